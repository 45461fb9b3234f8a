-- The story of a business key, an event or an instance, in order: each event, then what became of it, instance by
-- instance; branches and child workflows stand where they began, and their subject names the way to them.
-- $1 business key, event id (of any source), event uid or instance id; $2 oid of the caller
-- Returns the columns of rea.timeline. Event ids are found source by source, in one step of the key's index each. The
-- place of a row is a text for each level: the time it was written, then log rows by log_id, others, children, the end.
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
), root as (
    select i.instance_id, i.event_uid
    from named n
    join rea.work_instance i on i.event_uid = n.event_uid and i.branch is null
    where not exists (select from rea.work_instance p join named o on o.event_uid = p.event_uid
                      where p.instance_id = i.parent_instance_id)
    union
    select i.instance_id, i.event_uid from given g join rea.work_instance i on i.instance_id = g.id
), tree (instance_id, event_uid, root_id, path, place) as (
    select r.instance_id, r.event_uid, r.instance_id, null::text, '' from root r
    union all
    select c.instance_id, t.event_uid, t.root_id,
           pg_catalog.concat_ws(' › ', t.path, c.parent_action || '/' || coalesce(c.branch, c.workflow_name)),
           pg_catalog.concat(t.place, pg_catalog.to_char(c.create_time at time zone 'UTC', 'YYYYMMDDHH24MISSUS'), '2',
                             pg_catalog.lpad(coalesce(c.item_index, 0)::text, 10, '0'), c.instance_id)
    from tree t
    join rea.work_instance c on c.parent_instance_id = t.instance_id
), event as (
    select e.event_uid, e.create_time, e.event_type, e.event_id, e.source, e.biz_key, e.fired_by, e.fire_at, e.status,
           e.attributes ->> 'rerunOf' as rerun_of
    from (select n.event_uid from named n
          where not exists (select from rea.work_instance c join tree t on t.instance_id = c.instance_id
                            where c.event_uid = n.event_uid and t.path is not null)
          union
          select r.event_uid from root r) w
    join rea.events e on e.event_uid = w.event_uid
    where rea.may_see($2, e.fired_by)
), instance as (
    select t.instance_id, t.event_uid, t.root_id, t.path, t.place, i.workflow_name, i.workflow_version, i.route_name, i.route_version,
           i.create_time, coalesce(t.path, i.parent_action || '/' || i.branch, i.workflow_name) as subject, i.event_id, i.parent_action, i.branch,
           i.item_index, i.item, i.detached, i.event_uid as own_event_uid
    from tree t
    join event e on e.event_uid = t.event_uid
    join rea.work_instance i on i.instance_id = t.instance_id
), story as (
    select e.event_uid, null::uuid as root_id, null::uuid as instance_id, '0' as place, e.create_time as written, '0' as rank, e.create_time as at,
           'event' as kind, e.event_type as subject, e.status,
           pg_catalog.format('event %s%s for %s, fired by %s%s%s',
                  e.event_id, ' of source ' || nullif(e.source, ''), e.biz_key, e.fired_by,
                  ', to fire at ' || pg_catalog.to_char(e.fire_at, 'YYYY-MM-DD HH24:MI:SSOF'),
                  ', rerun of ' || e.rerun_of) as detail,
           null::integer as cost_ms
    from event e
    union all
    select u.event_uid, null, null, '1', u.create_time, '0', u.create_time,
           case u.reason when 'awaited' then 'awaited' else 'unrouted' end, e.event_type, e.status,
           case u.reason when 'cancelled' then 'taken back before it fired'
                         when 'awaited' then 'no route matched; instances waited for it'
                         when 'no_route' then 'no route matched' else 'a route could not be evaluated' end
               || coalesce(', announced ' || case when u.reason <> 'cancelled' then
                                pg_catalog.to_char(u.announced_time, 'YYYY-MM-DD HH24:MI:SSOF') end, ''), null
    from event e
    join rea.work_unrouted u on u.event_uid = e.event_uid
    union all
    select m.event_uid, null, null, '2', m.create_time, m.instance_id::text, m.create_time, 'arrival', e.event_type, e.status,
           pg_catalog.format('completed %s of workflow %s, instance %s',
                  coalesce('the wait ' || nullif(m.action_name, ''), 'cancelOn'), i.workflow_name, m.instance_id), null
    from event e
    join rea.work_wait_event m on m.event_uid = e.event_uid
    join rea.work_instance i on i.instance_id = m.instance_id
    union all
    select i.event_uid, i.root_id, i.instance_id, i.place, i.create_time, '0', i.create_time,
           case when i.path is null and i.branch is null then 'route' else 'start' end, i.subject,
           case when i.path is null and i.branch is null then 'ROUTED' else 'STARTED' end,
           case when i.branch is not null then
                    pg_catalog.format('branch %s of %s%s', i.branch, i.parent_action,
                           pg_catalog.format(', item %s: ', i.item_index) || pg_catalog.left(i.item::text, 200))
                when i.parent_action is not null then
                    pg_catalog.format('version %s of workflow %s, with event %s%s', i.workflow_version, i.workflow_name,
                           i.event_id, case when i.detached then '; nobody waits for it' end)
                else pg_catalog.format('route %s, version %s, chose version %s of the workflow',
                            i.route_name, i.route_version, i.workflow_version) end, null
    from instance i
    union all
    select i.event_uid, i.root_id, i.instance_id, i.place, l.create_time, '0' || pg_catalog.lpad(l.log_id::text, 10, '0'), l.create_time,
           'status', i.subject, l.new_status,
           pg_catalog.concat(l.old_status || ' → ', l.new_status, ': ', l.cause), null
    from instance i
    join rea.work_instance_log l on l.instance_id = i.instance_id
    union all
    select i.event_uid, i.root_id, i.instance_id, i.place, l.create_time, '0' || pg_catalog.lpad(l.log_id::text, 10, '0'), l.end_time,
           'attempt', pg_catalog.concat_ws(' › ', i.path, l.action_name), l.status,
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
    select e.event_uid, r.old_instance_id, r.old_instance_id, case when r.old_instance_id is null then '3' else '' end,
           r.reroute_time, '3', r.reroute_time, 'reroute',
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
    select i.event_uid, i.root_id, i.instance_id, i.place, w.create_time, '1' || w.wait_no, w.create_time, 'wait',
           pg_catalog.concat_ws(' › ', i.path, coalesce(nullif(w.action_name, ''), 'cancelOn')), 'WAITING',
           pg_catalog.format('waits for event %s %s since %s', w.event_type,
                  coalesce('of ' || w.biz_key, 'with correlation id ' || w.correlation_id),
                  pg_catalog.to_char(w.since, 'YYYY-MM-DD HH24:MI:SSOF')), null
    from instance i
    join rea.work_wait w on w.instance_id = i.instance_id
    where not exists (select from rea.work_wait_event m
                      where m.instance_id = w.instance_id and m.action_name = w.action_name and m.wait_no = w.wait_no)
    union all
    select i.event_uid, i.root_id, i.instance_id, i.place, m.create_time, '-' || m.wait_no, m.create_time, 'arrival',
           pg_catalog.concat_ws(' › ', i.path, coalesce(nullif(m.action_name, ''), 'cancelOn')), 'ARRIVED',
           pg_catalog.format('event %s: %s%s', e.event_type, e.event_id, ' of source ' || nullif(e.source, '')), null
    from instance i
    join rea.work_wait_event m on m.instance_id = i.instance_id
    join rea.work_event e on e.event_uid = m.event_uid
    union all
    select i.event_uid, i.root_id, i.instance_id, i.place, r.create_time, '1' || r.request_id, r.create_time, 'request', i.subject,
           'REQUESTED', pg_catalog.format('%s asked for by %s: %s', r.request, r.requested_by, r.cause), null
    from instance i
    join rea.work_request r on r.instance_id = i.instance_id
    union all
    select i.event_uid, i.root_id, i.instance_id, i.place, o.create_time, '1' || o.event_uid, o.create_time, 'emit',
           pg_catalog.concat_ws(' › ', i.path, l.action_name), o.status,
           pg_catalog.format('event %s: %s for %s', o.event_type, o.event_id, o.biz_key), null
    from instance i
    join rea.work_event c on c.event_uid = i.own_event_uid
    join rea.events o on o.correlation_id = coalesce(c.correlation_id, c.event_id) and o.causation_id = c.event_id
    join rea.workflow_version v on v.workflow_name = i.workflow_name and v.version = i.workflow_version
    cross join lateral (
        select a.action_name
        from rea.work_action_log a
        left join lateral pg_catalog.jsonb_array_elements(rea.block(v.definition, i.parent_action, i.branch)) d (action)
            on d.action ->> 'name' = a.action_name and d.action ->> 'type' = 'emit'
        where a.instance_id = i.instance_id and a.create_time = o.create_time and a.status = 'SUCCESS'
          and (d.action is not null or a.action_name like '%~undo' and a.request_summary is null)
        order by d.action -> 'config' ->> 'eventType' = o.event_type desc nulls last, a.log_id limit 1) l
    where not exists (select from rea.work_instance w where w.event_uid = o.event_uid and w.parent_instance_id is not null)
    union all
    select i.event_uid, i.root_id, i.instance_id, i.place, d.create_time, '3', d.create_time, 'dead_letter', i.subject, d.status,
           pg_catalog.concat('waits for a person: ', d.error_code, ' ', d.error,
                  ', announced ' || pg_catalog.to_char(d.announced_time, 'YYYY-MM-DD HH24:MI:SSOF')),
           null
    from instance i
    join rea.work_dead_letter d on d.instance_id = i.instance_id
)
select s.at, s.kind, s.instance_id, s.subject, s.status, s.detail, s.cost_ms
from event e
join story s on s.event_uid = e.event_uid
order by e.create_time, e.event_uid, s.root_id nulls first,
         pg_catalog.concat(s.place, pg_catalog.to_char(s.written at time zone 'UTC', 'YYYYMMDDHH24MISSUS'), s.rank) collate "C"
