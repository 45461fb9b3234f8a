-- Keeps a schedule from firing. Rows processed: 1, or 0 when there is none of that name.
-- $1 schedule_name, $2 why a worker gives it up; null when a person pauses it, $3 now
update rea.schedule s set paused = true, next_time = null, error = $2, update_time = $3 where s.schedule_name = $1
