-- The schedules with a due tick, the longest due first.
-- $1 now, $2 how many
-- Lock: the rows, skipping locked ones: those are being changed, or fired by another worker.
select s.schedule_name, s.cron, s.timezone, s.catch_up, s.catch_up_limit, s.next_time
from rea.schedule s
where s.next_time <= $1
order by s.next_time limit $2
for update skip locked
