-- What an event would start: every active route for its type, in the order of choice (route_events.sql), and why.
-- $1 event_type, $2 biz_key, $3 payload, $4 attributes
-- Returns the columns of rea.match_event.
with candidate as (
    select r.route_name, r.version, r.route_group, r.priority, r.workflow_name, r.type_prefix, r.match_contains,
           r.match_path, w.enabled,
           case
               when r.match_contains is not null then $3::jsonb @> r.match_contains
               when r.match_path is not null then pg_catalog.jsonb_path_match_tz(
                   pg_catalog.jsonb_build_object(
                       'event', pg_catalog.jsonb_build_object(
                           'id', null, 'type', $1::text, 'source', '', 'bizKey', $2::text,
                           'time', pg_catalog.now(), 'attributes', $4::jsonb,
                           'correlationId', null, 'causationId', null),
                       'payload', $3::jsonb),
                   r.match_path, '{}', true)
               else true
           end as fits
    from rea.route r
    join rea.workflow w on w.workflow_name = r.workflow_name
    where r.active
      and (r.event_type = $1 or r.type_prefix is not null and pg_catalog.starts_with($1, r.type_prefix))
), placed as (
    select c.route_name, c.version, c.route_group, c.priority, c.workflow_name, c.match_contains, c.match_path,
           c.enabled, c.fits, c.enabled and coalesce(c.fits, false) as matched,
           pg_catalog.row_number() over (
               partition by c.route_group
               order by c.priority, c.type_prefix is not null, pg_catalog.length(c.type_prefix) desc,
                        c.match_contains is null and c.match_path is null, c.route_name) as place
    from candidate c
), ranked as (
    select p.route_name, p.version, p.route_group, p.priority, p.workflow_name, p.match_contains, p.match_path,
           p.enabled, p.fits, p.matched, p.place,
           p.matched and p.place = min(p.place) filter (where p.matched) over (partition by p.route_group) as chosen
    from placed p
)
select r.route_name, r.version, r.route_group, r.priority, r.workflow_name, r.matched, r.chosen,
       case
           when not r.enabled then 'the workflow is disabled'
           when r.matched and not r.chosen then 'it matches, but so does one before it in its group'
           when r.match_contains is not null then
               pg_catalog.format('the payload %s %s',
                   case when r.matched then 'contains' else 'does not contain' end, r.match_contains)
           when r.fits is null then
               pg_catalog.format('the predicate %s is null: it could not be evaluated (missing operand, values of different types, division by zero)',
                   r.match_path)
           when r.match_path is not null then pg_catalog.format('the predicate %s is %s', r.match_path, r.fits::text)
           else 'it asks for nothing but the event type'
       end as why
from ranked r
order by r.route_group, r.place
