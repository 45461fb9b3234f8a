-- Gives the places of instances that ended to those behind them, which are signalled to look again.
-- $1 instance ids
-- More are signalled than there may be places; each looks for itself.
with gone as (
    delete from rea.work_place p where p.instance_id = any ($1::uuid[])
    returning p.workflow_name, p.place_key
)
insert into rea.work_signal (instance_id)
select n.instance_id
from (select distinct g.workflow_name, g.place_key from gone g) k
cross join lateral (
    select p.instance_id from rea.work_place p
    where p.workflow_name = k.workflow_name and p.place_key = k.place_key and not p.taken
      and not (p.instance_id = any ($1::uuid[]))
    order by p.turn
    limit (select count(*) from gone g where g.workflow_name = k.workflow_name and g.place_key = k.place_key)) n
