-- Withdraws a pause that was asked for and not carried out yet.
-- $1 instance id
delete from rea.work_request r where r.instance_id = $1 and r.request = 'pause'
