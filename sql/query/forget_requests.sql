-- Removes requests that were carried out, and those for instances that have ended or are PAUSED as asked.
-- $1 instances whose requests were carried out
-- Returns how many are left.
with gone as (
    delete from rea.work_request r
    where r.instance_id = any ($1::uuid[])
       or not exists (select from rea.work_queue q where q.instance_id = r.instance_id)
       or r.request = 'pause' and exists (
           select from rea.work_instance i where i.instance_id = r.instance_id and i.status = 'PAUSED')
    returning r.request_id
)
select count(*) - (select count(*) from gone) from rea.work_request
