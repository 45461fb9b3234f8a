-- Takes events from the inbox and matches them against the routes: a row per event and matching route group, and one
-- row with null route columns for an event that nothing matches.
-- $1 inbox ids up to here cannot appear any more, $2 how many events
-- Lock: the inbox rows, skipping locked ones; they are gone when the transaction commits.
-- In a group the first match wins: lower priority, exact type before prefix, longer prefix first, a route with a match
-- before one without, then by name.
with taken as (
    delete from rea.work_inbox
    where ctid = any (array(
        select i.ctid from rea.work_inbox i where i.inbox_id > $1 order by i.inbox_id limit $2 for update skip locked))
    returning inbox_id, event_uid
)
select t.inbox_id, e.event_uid, e.create_time, e.event_type, e.biz_key, e.event_id, e.source, e.correlation_id,
       e.causation_id, e.attributes ->> 'traceparent', e.fired_by::text, e.payload::text,
       r.route_name, r.route_version, r.workflow_name, r.workflow_version
from taken t
join rea.work_event e on e.event_uid = t.event_uid
left join lateral (
    select distinct on (c.route_group)
           c.route_name, c.version as route_version, c.workflow_name, w.current_version as workflow_version
    from (
        select x.route_name, x.version, x.workflow_name, x.route_group, x.priority, x.type_prefix, x.match_contains,
               x.match_path
        from rea.route x where x.active and x.event_type = e.event_type
        union all
        select p.route_name, p.version, p.workflow_name, p.route_group, p.priority, p.type_prefix, p.match_contains,
               p.match_path
        from rea.route p
        where p.active and p.type_prefix is not null and pg_catalog.starts_with(e.event_type, p.type_prefix)
    ) c
    join rea.workflow w on w.workflow_name = c.workflow_name and w.enabled
    where case
              when c.match_contains is not null then e.payload @> c.match_contains
              when c.match_path is not null then pg_catalog.jsonb_path_match_tz(
                  pg_catalog.jsonb_build_object(
                      'event', pg_catalog.jsonb_build_object(
                          'id', e.event_id, 'type', e.event_type, 'source', e.source, 'bizKey', e.biz_key,
                          'time', e.occurred_at, 'attributes', e.attributes,
                          'correlationId', e.correlation_id, 'causationId', e.causation_id),
                      'payload', e.payload),
                  c.match_path, '{}', true)
              else true
          end
    order by c.route_group, c.priority, c.type_prefix is not null, pg_catalog.length(c.type_prefix) desc,
             c.match_contains is null and c.match_path is null, c.route_name
) r on true
order by t.inbox_id
