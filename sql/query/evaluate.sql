-- Evaluates SQL/JSON paths against context documents.
-- $1 event uids, $2 what the documents hold beside event and payload, as JSON text; $3 index of each one's first path,
-- from 1, $4 of its last; $5 the paths, $6 whether all matches of a path are wanted, as an array
-- Returns, in the order of the paths: number of matches, and the array or the first match as text.
select pg_catalog.jsonb_array_length(v.value), case when ($6::boolean[])[p.position] then v.value::text else (v.value -> 0)::text end
from unnest($1::uuid[], $2::text[], $3::integer[], $4::integer[]) d (event_uid, extra, first_path, last_path)
cross join lateral (
    select pg_catalog.jsonb_build_object(
               'event', pg_catalog.jsonb_build_object(
                   'id', e.event_id, 'type', e.event_type, 'source', e.source, 'bizKey', e.biz_key,
                   'time', e.occurred_at, 'attributes', e.attributes,
                   'correlationId', e.correlation_id, 'causationId', e.causation_id),
               'payload', e.payload) || d.extra::jsonb as body
    from rea.work_event e where e.event_uid = d.event_uid
    offset 0) c
cross join lateral pg_catalog.generate_series(d.first_path, d.last_path) p (position)
cross join lateral pg_catalog.jsonb_path_query_array_tz(c.body, ($5::text[])[p.position]::jsonpath, '{}', true) v (value)
order by p.position
