-- Claims waiting instances that were signalled to look again.
-- $1 own generation, $2 how many signals, $3 now
-- Returns their ids, then rows with a null id: 'busy' for every signal that has to wait because somebody has the queue
-- row, 'more' if there may be more signals, 'cancel' if cancellations were asked for.
-- Lock: signals and queue rows, skipping locked ones. A signal goes only with its instance in hand; one for an instance
-- that does not wait is done with: that one looks for itself when it begins to. An instance with cancelOn signals itself
-- when it begins: events between its own and this moment are looked up here, for it waits for them whatever it does.
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
), awaited as (
    select w.instance_id, w.wait_no, w.match_contains, w.match_path, w.since, e.event_uid
    from (select distinct s.instance_id from s) n
    join rea.work_wait w on w.instance_id = n.instance_id and w.action_name = ''
    join rea.work_event e on e.biz_key = w.biz_key and e.event_type = w.event_type
    union all
    select w.instance_id, w.wait_no, w.match_contains, w.match_path, w.since, e.event_uid
    from (select distinct s.instance_id from s) n
    join rea.work_wait w on w.instance_id = n.instance_id and w.action_name = ''
    join rea.work_event e on e.correlation_id = w.correlation_id and e.event_type = w.event_type
), came as (
    insert into rea.work_wait_event (instance_id, event_uid, action_name, wait_no, create_time)
    select a.instance_id, a.event_uid, '', a.wait_no, $3
    from awaited a
    join rea.work_instance i on i.instance_id = a.instance_id and i.event_uid <> a.event_uid
    join rea.work_event e on e.event_uid = a.event_uid
    where coalesce(e.fire_at, e.create_time) >= a.since
      and not exists (select from rea.work_delayed d where d.event_uid = a.event_uid)
      and not exists (select from rea.work_unrouted u where u.event_uid = a.event_uid and u.reason = 'cancelled')
      and rea.event_matches(e, a.match_contains, a.match_path)
    order by a.instance_id, a.wait_no
    on conflict do nothing
    returning instance_id, event_uid
), asked as (
    insert into rea.work_request (instance_id, request, compensate, cause, requested_by, create_time)
    select c.instance_id, 'cancel', true, 'cancelled by event ' || e.event_type, current_user, $3
    from came c
    join rea.work_event e on e.event_uid = c.event_uid
    returning instance_id
)
select q.instance_id, 'held' from q
union all
select null::uuid, 'busy' from held h where h.busy
union all
select null::uuid, 'more' where (select count(*) from s) >= $2
union all
select distinct null::uuid, 'cancel' from asked
