-- Lets a paused schedule fire again, from its next tick on.
-- $1 schedule_name, $2 next_time, $3 now
update rea.schedule s set paused = false, next_time = $2, error = null, update_time = $3
where s.schedule_name = $1 and s.paused
