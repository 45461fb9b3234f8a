-- The story of a business key, an event or an instance, in order: each event, then what became of it, instance by
-- instance.
-- $1 business key, event id (of any source), event uid or instance id; $2 oid of the caller
-- Returns the columns of rea.timeline. Event ids are found source by source, in one step of the key's index each.
with recursive given as (
    select case when $1 ~ '^[0-9A-Fa-f]{8}(-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}$' then $1::uuid end as id
), source as (
    (select k.source from rea.work_event_key k order by k.source limit 1)
    union all
    select (select k.source from rea.work_event_key k where k.source > s.source order by k.source limit 1)
    from source s where s.source is not null
), named as (
    select e.event_uid from rea.work_event e where e.biz_key = $1
    union
    select k.event_uid from source s join rea.work_event_key k on k.source = s.source and k.event_id = $1
    union
    select g.id from given g where g.id is not null
), instance as (
    select i.instance_id, i.event_uid, i.workflow_name, i.workflow_version, i.route_name, i.route_version, i.create_time
    from named n join rea.work_instance i on i.event_uid = n.event_uid
    union
    select i.instance_id, i.event_uid, i.workflow_name, i.workflow_version, i.route_name, i.route_version, i.create_time
    from given g join rea.work_instance i on i.instance_id = g.id
), event as (
    select e.event_uid, e.create_time, e.event_type, e.event_id, e.source, e.biz_key, e.fired_by,
           e.fire_at, e.attributes ->> 'rerunOf' as rerun_of
    from (select n.event_uid from named n union select i.event_uid from instance i) w
    join rea.work_event e on e.event_uid = w.event_uid
    where rea.may_see($2, e.fired_by)
), story as (
    select e.event_uid, null::uuid as instance_id, 0 as position, e.create_time as at, 'event' as kind,
           e.event_type as subject,
           case when exists (select from rea.work_instance i where i.event_uid = e.event_uid) then 'ROUTED'
                when u.reason = 'cancelled' then 'CANCELLED'
                when u.event_uid is not null then 'UNROUTED'
                when exists (select from rea.work_delayed d where d.event_uid = e.event_uid) then 'SCHEDULED'
                else 'ACCEPTED' end as status,
           pg_catalog.format('event %s%s for %s, fired by %s%s%s',
                  e.event_id, ' of source ' || nullif(e.source, ''), e.biz_key, e.fired_by,
                  ', to fire at ' || pg_catalog.to_char(e.fire_at, 'YYYY-MM-DD HH24:MI:SSOF'),
                  ', rerun of ' || e.rerun_of) as detail,
           null::integer as cost_ms
    from event e
    left join rea.work_unrouted u on u.event_uid = e.event_uid
    union all
    select u.event_uid, null, 1, u.create_time, 'unrouted', e.event_type,
           case u.reason when 'cancelled' then 'CANCELLED' else 'UNROUTED' end,
           case u.reason when 'cancelled' then 'taken back before it fired'
                         when 'no_route' then 'no route matched' else 'a route could not be evaluated' end
               || coalesce(', announced ' || case when u.reason <> 'cancelled' then
                                pg_catalog.to_char(u.announced_time, 'YYYY-MM-DD HH24:MI:SSOF') end, ''), null
    from event e
    join rea.work_unrouted u on u.event_uid = e.event_uid
    union all
    select i.event_uid, i.instance_id, -1, i.create_time, 'route', i.workflow_name, 'ROUTED',
           pg_catalog.format('route %s, version %s, chose version %s of the workflow',
                  i.route_name, i.route_version, i.workflow_version), null
    from instance i
    union all
    select i.event_uid, i.instance_id, l.log_id, l.create_time, 'status', i.workflow_name, l.new_status,
           pg_catalog.concat(l.old_status || ' → ', l.new_status, ': ', l.cause), null
    from instance i
    join rea.work_instance_log l on l.instance_id = i.instance_id
    union all
    select i.event_uid, i.instance_id, l.log_id, l.end_time, 'attempt', l.action_name, l.status,
           pg_catalog.concat(
               case l.status when 'SKIPPED' then 'skipped'
                             when 'SUCCESS' then pg_catalog.format('attempt %s succeeded', l.attempt_no)
                             when 'LOST' then pg_catalog.format('attempt %s lost', l.attempt_no)
                             else pg_catalog.format('attempt %s failed', l.attempt_no) end,
               ': ' || nullif(pg_catalog.concat_ws(' ',
                   nullif(l.error_code, 'skipped'),
                   case when l.error_code is null then l.response_summary else l.error_msg end), ''),
               ', next try at ' || pg_catalog.to_char(l.next_retry_time, 'YYYY-MM-DD HH24:MI:SS.MSOF')),
           l.cost_ms
    from instance i
    join rea.work_action_log l on l.instance_id = i.instance_id
    union all
    select e.event_uid, r.old_instance_id, 2147483646, r.reroute_time, 'reroute',
           coalesce(r.workflow_name, e.event_type), pg_catalog.upper(r.action),
           pg_catalog.concat(
               'routed anew by ', r.rerouted_by, ' in group ', r.route_group, ': ',
               coalesce(pg_catalog.format('version %s of the workflow%s', r.workflow_version,
                            case when r.action = 'restart' then ' takes its place' end),
                        'nothing is chosen any more'),
               ' (' || r.reason || ')'), null
    from event e
    join rea.work_reroute r on r.event_uid = e.event_uid
    union all
    select i.event_uid, i.instance_id, 2147483647, d.create_time, 'dead_letter', i.workflow_name, d.status,
           pg_catalog.concat('waits for a person: ', d.error_code, ' ', d.error,
                  ', announced ' || pg_catalog.to_char(d.announced_time, 'YYYY-MM-DD HH24:MI:SSOF')),
           null
    from instance i
    join rea.work_dead_letter d on d.instance_id = i.instance_id
)
select s.at, s.kind, s.instance_id, s.subject, s.status, s.detail, s.cost_ms
from event e
join story s on s.event_uid = e.event_uid
order by e.create_time, e.event_uid, s.instance_id nulls first, s.position
