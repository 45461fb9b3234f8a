-- What events started, and what the rules in force would choose for them: a row per event and route group.
-- $1 event type, exact or ending in .*; $2 source, $3 business key, $4 fired from this time on, $5 and before this one,
-- $6 UNROUTED or the status of an instance, $7 workflow of an instance, $8 event ids or uids; null: any. $9 how many
-- events, those first for which something can be done
-- Returns the columns of rea.reroute_events. Events that lie in the inbox are left out: they are routed anyway. The
-- choice is made as in route_events.sql, so that the answer is the worker's. Of a group's instances the latest counts.
with recursive source as (
    (select k.source from rea.work_event_key k order by k.source limit 1)
    union all
    select (select k.source from rea.work_event_key k where k.source > s.source order by k.source limit 1)
    from source s where s.source is not null
), named as materialized (
    select k.event_uid
    from source s
    cross join unnest($8::text[]) n (id)
    join rea.work_event_key k on k.source = s.source and k.event_id = n.id
    union
    select case when n.id ~ '^[0-9A-Fa-f]{8}(-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}$' then n.id::uuid end
    from unnest($8::text[]) n (id)
), event as materialized (
    select e.event_uid, e.event_id, e.source, e.event_type, e.biz_key, e.payload, e.occurred_at, e.attributes,
           e.correlation_id, e.causation_id, u.event_uid is not null as unrouted
    from rea.work_event e
    left join rea.work_unrouted u on u.event_uid = e.event_uid and u.reason in ('no_route', 'match_error')
    where ($1::text is null or e.event_type = $1
           or $1 like '%.*' and pg_catalog.starts_with(e.event_type, pg_catalog.left($1, -1)))
      and ($2::text is null or e.source = $2)
      and ($3::text is null or e.biz_key = $3)
      and ($4::text is null or e.create_time >= $4::timestamptz)
      and ($5::text is null or e.create_time < $5::timestamptz)
      and ($8::text[] is null or e.event_uid = any (array(select n.event_uid from named n)))
      and case when $6::text is null then
                   u.event_uid is not null
                   or exists (select from rea.work_instance i where i.event_uid = e.event_uid)
               when $6 = 'UNROUTED' then u.event_uid is not null
               else exists (select from rea.work_instance i where i.event_uid = e.event_uid and i.status = $6) end
      and ($7::text is null or exists (
              select from rea.work_instance i where i.event_uid = e.event_uid and i.workflow_name = $7))
      and not exists (select from rea.work_inbox b where b.event_uid = e.event_uid)
), kind as materialized (
    select d.event_type, c.route_name, c.workflow_name, c.workflow_version, c.route_group, c.match_contains,
           c.match_path,
           pg_catalog.row_number() over (
               partition by d.event_type, c.route_group
               order by c.priority, c.type_prefix is not null, pg_catalog.length(c.type_prefix) desc,
                        c.match_contains is null and c.match_path is null, c.route_name) as place
    from (select distinct v.event_type from event v) d
    cross join lateral (
        select r.route_name, r.workflow_name, w.current_version as workflow_version, r.route_group, r.priority,
               r.type_prefix, r.match_contains, r.match_path
        from rea.route r
        join rea.workflow w on w.workflow_name = r.workflow_name and w.enabled
        where r.active
          and (r.event_type = d.event_type
               or r.type_prefix is not null and pg_catalog.starts_with(d.event_type, r.type_prefix))
    ) c
), chosen as (
    select distinct on (e.event_uid, k.route_group)
           e.event_uid, k.route_group, k.route_name, k.workflow_name, k.workflow_version
    from event e
    join kind k on k.event_type = e.event_type
    where case
              when k.match_contains is not null then e.payload @> k.match_contains
              when k.match_path is not null then pg_catalog.jsonb_path_match_tz(
                  pg_catalog.jsonb_build_object(
                      'event', pg_catalog.jsonb_build_object(
                          'id', e.event_id, 'type', e.event_type, 'source', e.source, 'bizKey', e.biz_key,
                          'time', e.occurred_at, 'attributes', e.attributes,
                          'correlationId', e.correlation_id, 'causationId', e.causation_id),
                      'payload', e.payload),
                  k.match_path, '{}', true)
              else true
          end
    order by e.event_uid, k.route_group, k.place
), started as (
    select distinct on (e.event_uid, r.route_group)
           e.event_uid, r.route_group, i.instance_id, i.route_name, i.workflow_name, i.workflow_version, i.status,
           i.end_status is not null or coalesce(i.compensation, 'none') <> 'none' as undoes, w.enabled
    from event e
    join rea.work_instance i on i.event_uid = e.event_uid and i.parent_instance_id is null
    join rea.route r on r.route_name = i.route_name and r.version = i.route_version
    join rea.workflow w on w.workflow_name = i.workflow_name
    order by e.event_uid, r.route_group, i.create_time desc, i.instance_id desc
), compared as (
    select coalesce(s.event_uid, c.event_uid) as event_uid, coalesce(s.route_group, c.route_group) as route_group,
           s.instance_id, s.route_name as old_route, s.workflow_name as old_workflow,
           s.workflow_version as old_version, s.status, c.route_name as new_route, c.workflow_name as new_workflow,
           c.workflow_version as new_version,
           case when s.workflow_name = c.workflow_name and s.workflow_version = c.workflow_version then 'none'
                when s.instance_id is null then 'start'
                when s.status in ('SUCCESS', 'FAILED', 'DEAD', 'CANCELLED') or s.undoes then 'leave'
                when c.workflow_name is not null then 'restart'
                when s.enabled then 'stop'
                else 'leave' end as action
    from started s
    full join chosen c on c.event_uid = s.event_uid and c.route_group = s.route_group
), ranked as (
    select e.event_uid, count(*) filter (where m.doable) over () as doable,
           pg_catalog.row_number() over (
               order by m.doable desc nulls last, m.changed desc nulls last, e.event_uid) as place
    from event e
    left join (
        select c.event_uid, pg_catalog.bool_or(c.action in ('start', 'restart', 'stop')) as doable,
               pg_catalog.bool_or(c.action <> 'none') as changed
        from compared c group by c.event_uid) m on m.event_uid = e.event_uid
)
select e.event_uid, e.event_id, e.source, e.event_type, e.biz_key, c.route_group, c.old_workflow, c.old_version,
       c.old_route, case when e.unrouted then 'UNROUTED' else c.status end as old_status,
       c.instance_id as old_instance_id, c.new_workflow, c.new_version, c.new_route,
       coalesce(c.action, 'none') <> 'none' as changed, coalesce(c.action, 'none') as action,
       greatest(r.doable - $9, 0) as left_over
from ranked r
join event e on e.event_uid = r.event_uid
left join compared c on c.event_uid = r.event_uid
where r.place <= $9
order by r.place, c.route_group
