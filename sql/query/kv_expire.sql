-- Removes values of the key-value store that have expired, at most 1,000; those in use elsewhere are left for later.
-- $1 now
with expired as (
    select k.workflow_name, k.key from rea.work_kv k
    where k.expire_time <= $1::timestamptz
    order by k.expire_time limit 1000
    for update skip locked
)
delete from rea.work_kv k using expired e where k.workflow_name = e.workflow_name and k.key = e.key
