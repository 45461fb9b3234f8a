-- Completes waits with events that were just routed.
-- $1 event uids in order, $2 now
-- An event completes at most one wait of an instance, the first in its list that is still open, but waits of many
-- instances; never one of the instance that it started. Waiting instances are signalled; an event of cancelOn asks for
-- the cancellation. Returns how many waits were completed, and how many of those ask for a cancellation.
-- Lock: the rows of work_wait, against a wait that gives up at the same moment (lock_waits.sql).
with awaited as (
    select k.position, k.instance_id, k.action_name, k.wait_no, k.match_contains, k.match_path, k.event_uid from (
        select u.position, w.instance_id, w.action_name, w.wait_no, w.match_contains, w.match_path, e.event_uid
        from unnest($1::uuid[]) with ordinality u (event_uid, position)
        join rea.work_event e on e.event_uid = u.event_uid
        join rea.work_wait w on w.biz_key = e.biz_key and w.event_type = e.event_type
        for key share of w) k
    union all
    select c.position, c.instance_id, c.action_name, c.wait_no, c.match_contains, c.match_path, c.event_uid from (
        select u.position, w.instance_id, w.action_name, w.wait_no, w.match_contains, w.match_path, e.event_uid
        from unnest($1::uuid[]) with ordinality u (event_uid, position)
        join rea.work_event e on e.event_uid = u.event_uid
        join rea.work_wait w on w.correlation_id = e.correlation_id and w.event_type = e.event_type
        for key share of w) c
), completed as (
    insert into rea.work_wait_event (instance_id, event_uid, action_name, wait_no, create_time)
    select a.instance_id, a.event_uid, a.action_name, a.wait_no, $2
    from awaited a
    join rea.work_instance i on i.instance_id = a.instance_id and i.event_uid <> a.event_uid
    join rea.work_event e on e.event_uid = a.event_uid
    where rea.event_matches(e, a.match_contains, a.match_path)
    order by a.position, a.instance_id, a.wait_no
    on conflict do nothing
    returning instance_id, event_uid, action_name
), signalled as (
    insert into rea.work_signal (instance_id)
    select distinct c.instance_id from completed c where c.action_name <> ''
), asked as (
    insert into rea.work_request (instance_id, request, compensate, cause, requested_by, create_time)
    select c.instance_id, 'cancel', true, 'cancelled by event ' || e.event_type, current_user, $2
    from completed c
    join rea.work_event e on e.event_uid = c.event_uid
    where c.action_name = ''
    returning instance_id
)
select count(*), (select count(*) from asked) from completed
