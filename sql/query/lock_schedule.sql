-- A schedule as it stands, locked so that no worker fires it meanwhile; waits for one that does.
-- $1 schedule_name
select s.cron, s.timezone, s.paused and s.error is null, s.next_time from rea.schedule s where s.schedule_name = $1
for update
