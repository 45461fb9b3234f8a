-- Lets one transaction at a time give places to instances of the same workflow and key.
-- $1 instance ids
select pg_catalog.pg_advisory_xact_lock(pg_catalog.hashtext(k.workflow_name), pg_catalog.hashtext(k.place_key))
from (select distinct p.workflow_name, p.place_key from rea.work_place p where p.instance_id = any ($1::uuid[])
      order by 1, 2) k
