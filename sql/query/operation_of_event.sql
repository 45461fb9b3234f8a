-- The document of an event's operation, over all instances that it started.
-- $1 event_id, $2 source, $3 oid of the caller
-- Returns one jsonb; no row when the event is unknown or not the caller's to see. An id that no source gave is the
-- event's uid. What is unfinished decides the status, then what went worst; retryAfterSeconds is null once nothing
-- moves by itself any more, and at most a year; compensation is the worst of theirs. Names of steps and results are told apart by workflow, by route where
-- that is the same, when there are several instances.
with event as (
    select e.event_uid, e.event_id
    from rea.work_event e
    where e.event_uid = coalesce(
              (select k.event_uid from rea.work_event_key k where k.source = $2 and k.event_id = $1),
              case when $2 = '' and $1 ~ '^[0-9A-Fa-f]{8}(-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}$' then $1::uuid end)
      and rea.may_see($3, e.fired_by)
), part as (
    select p.status, p.weight, p.create_time, p.look_again, p.steps, p.result, p.error, p.compensation,
           case when count(*) over (partition by p.workflow_name) > 1 then p.route_name else p.workflow_name end as name,
           count(*) over () > 1 as is_one_of_many
    from event e
    join rea.operation_part p on p.event_uid = e.event_uid and p.branch is null and not p.replaced
), total as (
    select (pg_catalog.array_agg(p.status order by p.weight))[1] as status,
           case when pg_catalog.bool_or(p.is_one_of_many)
                then pg_catalog.jsonb_object_agg(p.name, p.result) filter (where p.status = 'SUCCEEDED')
                else (pg_catalog.array_agg(p.result))[1] end as result,
           (pg_catalog.array_agg(p.compensation order by pg_catalog.array_position(
               array['running', 'failed', 'done', 'none'], p.compensation)))[1] as compensation,
           (pg_catalog.array_agg(p.error order by p.weight, p.create_time)
               filter (where p.error is not null))[1] as error,
           min(least(greatest(pg_catalog.ceil(
               extract(epoch from p.look_again) - extract(epoch from pg_catalog.clock_timestamp())), 1), 31536000))
               filter (where p.status in ('RUNNING', 'PENDING'))::integer as retry_after
    from part p
), step as (
    select pg_catalog.jsonb_object_agg(
               case when p.is_one_of_many then p.name || '.' || s.name else s.name end, s.status) as steps
    from part p
    cross join lateral pg_catalog.jsonb_each(p.steps) s (name, status)
)
select pg_catalog.jsonb_build_object(
           'operationId', e.event_id,
           'status', coalesce(t.status, case when u.reason = 'cancelled' then 'CANCELLED'
                                           when u.reason = 'awaited' then 'SUCCEEDED'
                                           when u.event_uid is not null then 'UNROUTED' else 'ACCEPTED' end),
           'steps', coalesce(s.steps, '{}'),
           'result', t.result,
           'error', case when t.status is not null then t.error
                         when u.reason not in ('cancelled', 'awaited') then pg_catalog.jsonb_build_object(
                             'code', u.reason, 'step', null, 'message',
                             case u.reason when 'no_route' then 'no route matched the event'
                                           else 'a route could not be evaluated for the event' end) end,
           'compensation', t.compensation,
           'retryAfterSeconds', case when t.status is not null then t.retry_after
                                     when u.event_uid is null then coalesce(d.seconds, 1) end)
from event e
cross join total t
cross join step s
left join rea.work_unrouted u on u.event_uid = e.event_uid
left join lateral (
    select least(greatest(pg_catalog.ceil(extract(epoch from l.fire_at)
                                          - extract(epoch from pg_catalog.clock_timestamp())), 1), 31536000)::integer
    from rea.work_delayed l where l.event_uid = e.event_uid) d (seconds) on true
