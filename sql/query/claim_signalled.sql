-- Claims waiting instances that were signalled to look again.
-- $1 own generation, $2 how many signals
-- Returns their ids, and a row with a null id for every signal that has to wait because somebody has the queue row.
-- Lock: signals and queue rows, skipping locked ones. A signal goes only with its instance in hand; one for an instance
-- that does not wait is done with: that one looks for itself when it begins to.
with s as materialized (
    select w.ctid as place, w.instance_id from rea.work_signal w limit $2 for update skip locked
), picked as (
    select d.instance_id from rea.work_queue d
    where d.instance_id = any (array(select s.instance_id from s)) and d.lane = '~wait' and d.owner_generation is null
    order by d.instance_id for update skip locked
), held as materialized (
    select s.place, p.instance_id is null and exists (
               select from rea.work_queue b
               where b.instance_id = s.instance_id and b.lane = '~wait' and b.owner_generation is null) as busy
    from s left join picked p on p.instance_id = s.instance_id
), gone as (
    delete from rea.work_signal where ctid = any (array(select h.place from held h where not h.busy))
), q as (
    update rea.work_queue c set owner_generation = $1
    from picked p where c.instance_id = p.instance_id
    returning c.instance_id
)
select q.instance_id from q
union all
select null::uuid from held h where h.busy
