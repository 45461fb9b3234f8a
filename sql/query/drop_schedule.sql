-- Removes a schedule. Rows processed: 1, or 0 when there is none of that name.
-- $1 schedule_name
delete from rea.schedule s where s.schedule_name = $1
