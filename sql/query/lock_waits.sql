-- Keeps events from completing these waits until the end of the transaction; waits for those that are about to.
-- $1 instance id, $2 wait action
-- Lock: the rows of work_wait; complete_waits.sql takes a weaker one before it completes any.
select w.wait_no from rea.work_wait w
where w.instance_id = $1 and w.action_name = $2 order by w.wait_no for update
