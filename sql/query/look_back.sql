-- Completes waits with events that came before the wait began; it is committed, so later ones find it themselves.
-- $1 instance ids, $2 wait action of each, $3 now
-- See complete_waits.sql. An event with a time of its own counts from that time on: one that has not fired yet, or was
-- taken back before, completes nothing. One that no route matched was awaited after all.
with awaited as (
    select w.instance_id, w.action_name, w.wait_no, w.match_contains, w.match_path, w.since, e.event_uid,
           coalesce(e.fire_at, e.create_time) as create_time
    from unnest($1::uuid[], $2::text[]) n (instance_id, action_name)
    join rea.work_wait w on w.instance_id = n.instance_id and w.action_name = n.action_name
    join rea.work_event e on e.biz_key = w.biz_key and e.event_type = w.event_type
    union all
    select w.instance_id, w.action_name, w.wait_no, w.match_contains, w.match_path, w.since, e.event_uid,
           coalesce(e.fire_at, e.create_time) as create_time
    from unnest($1::uuid[], $2::text[]) n (instance_id, action_name)
    join rea.work_wait w on w.instance_id = n.instance_id and w.action_name = n.action_name
    join rea.work_event e on e.correlation_id = w.correlation_id and e.event_type = w.event_type
), completed as (
    insert into rea.work_wait_event (instance_id, event_uid, action_name, wait_no, create_time)
    select a.instance_id, a.event_uid, a.action_name, a.wait_no, $3
    from awaited a
    join rea.work_instance i on i.instance_id = a.instance_id and i.event_uid <> a.event_uid
    join rea.work_event e on e.event_uid = a.event_uid
    where a.create_time >= a.since
      and not exists (select from rea.work_delayed d where d.event_uid = a.event_uid)
      and not exists (select from rea.work_unrouted u where u.event_uid = a.event_uid and u.reason = 'cancelled')
      and rea.event_matches(e, a.match_contains, a.match_path)
    order by a.create_time, a.event_uid, a.instance_id, a.wait_no
    on conflict do nothing
    returning event_uid
)
update rea.work_unrouted u set reason = 'awaited'
from completed c where u.event_uid = c.event_uid and u.reason = 'no_route'
