-- Notes what a schedule has fired. The caller holds its lock.
-- $1 schedule_name, $2 next_time, null when no tick comes any more, $3 last tick fired, null when none did,
-- $4 ticks left out
update rea.schedule s
set next_time = $2, last_time = coalesce($3, s.last_time), misfires = s.misfires + $4
where s.schedule_name = $1
