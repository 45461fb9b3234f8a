-- Takes back an event that has not fired yet, and shows it as cancelled; nobody is alerted.
-- $1 event_id, $2 source, $3 oid of the caller, $4 now
-- Returns whether it had not fired; no row when the event is unknown or not the caller's to see.
-- Lock: the delayed row; a worker that moves it at this moment is waited for, and then it has fired.
with event as (
    select e.event_uid
    from rea.work_event e
    where e.event_uid = coalesce(
              (select k.event_uid from rea.work_event_key k where k.source = $2 and k.event_id = $1),
              case when $2 = '' and $1 ~ '^[0-9A-Fa-f]{8}(-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}$' then $1::uuid end)
      and rea.may_see($3, e.fired_by)
), taken as (
    delete from rea.work_delayed d using event e where d.event_uid = e.event_uid returning d.event_uid
), cancelled as (
    insert into rea.work_unrouted (event_uid, create_time, reason, announced_time)
    select t.event_uid, $4, 'cancelled', $4 from taken t
    returning event_uid
)
select exists (select from cancelled) from event
