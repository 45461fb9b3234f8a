-- Takes events from the inbox and matches them against the routes: a row per event and matching route group, and one
-- with null route columns for an event that nothing matches.
-- An event that is routed anew may only start the groups it names, and no row is returned if none of them matches.
-- $1 inbox ids up to here cannot appear any more, $2 how many events
-- Lock: the inbox rows, skipping locked ones; they are gone when the transaction commits.
-- In a group the first match wins: lower priority, exact type before prefix, longer prefix first, a route with a match
-- before one without, then by name. Types whose routes ask for nothing but the type are decided once for all their
-- events: that is most of them. The payload is handed over as it is stored; it becomes text only when it is sent.
with taken as (
    delete from rea.work_inbox
    where ctid = any (array(
        select i.ctid from rea.work_inbox i where i.inbox_id > $1 order by i.inbox_id limit $2 for update skip locked))
    returning inbox_id, event_uid, only_groups
), event as materialized (
    select t.inbox_id, e.event_uid, e.event_type, e.biz_key, e.event_id, e.source, e.correlation_id, e.causation_id,
           e.attributes, e.fired_by, e.payload, e.occurred_at, e.depth, t.only_groups
    from taken t
    join rea.work_event e on e.event_uid = t.event_uid
), kind as materialized (
    select d.event_type, c.route_name, c.version, c.workflow_name, c.workflow_version, c.route_group, c.priority,
           c.type_prefix, c.match_contains, c.match_path,
           coalesce(pg_catalog.bool_or(c.match_contains is not null or c.match_path is not null)
                        over (partition by d.event_type), false) as asks,
           pg_catalog.row_number() over (
               partition by d.event_type, c.route_group
               order by c.priority, c.type_prefix is not null, pg_catalog.length(c.type_prefix) desc,
                        c.match_contains is null and c.match_path is null, c.route_name) as place
    from (select distinct v.event_type from event v) d
    left join lateral (
        select x.route_name, x.version, x.workflow_name, w.current_version as workflow_version, x.route_group,
               x.priority, x.type_prefix, x.match_contains, x.match_path
        from (
            select r.route_name, r.version, r.workflow_name, r.route_group, r.priority, r.type_prefix,
                   r.match_contains, r.match_path
            from rea.route r where r.active and r.event_type = d.event_type
            union all
            select p.route_name, p.version, p.workflow_name, p.route_group, p.priority, p.type_prefix,
                   p.match_contains, p.match_path
            from rea.route p
            where p.active and p.type_prefix is not null and pg_catalog.starts_with(d.event_type, p.type_prefix)
        ) x
        join rea.workflow w on w.workflow_name = x.workflow_name and w.enabled
    ) c on true
)
select e.inbox_id, e.event_uid, e.event_type, e.biz_key, e.event_id, e.source, e.correlation_id, e.causation_id,
       e.attributes ->> 'traceparent', e.fired_by::text, e.payload,
       k.route_name, k.version, k.workflow_name, k.workflow_version, e.depth
from event e
join kind k on k.event_type = e.event_type and not k.asks and k.place = 1
    and (e.only_groups is null or k.route_group = any (e.only_groups))
union all
select e.inbox_id, e.event_uid, e.event_type, e.biz_key, e.event_id, e.source, e.correlation_id, e.causation_id,
       e.attributes ->> 'traceparent', e.fired_by::text, e.payload,
       m.route_name, m.version, m.workflow_name, m.workflow_version, e.depth
from event e
left join lateral (
    select distinct on (k.route_group) k.route_group, k.route_name, k.version, k.workflow_name, k.workflow_version
    from kind k
    where k.event_type = e.event_type
      and case
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
    order by k.route_group, k.place
) m on true
where exists (select from kind k where k.event_type = e.event_type and k.asks)
  and (e.only_groups is null or m.route_group = any (e.only_groups))
order by 1
