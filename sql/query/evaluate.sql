-- Evaluates SQL/JSON paths against context documents.
-- $1 document numbers, $2 their event uids, $3 what they hold beside event and payload, as JSON text;
-- $4 document number of each path, $5 the paths, $6 whether all matches are wanted, as an array
-- Returns, in the order of the paths: number of matches, and the array or the first match as text.
with document as materialized (
    select d.no,
           pg_catalog.jsonb_build_object(
               'event', pg_catalog.jsonb_build_object(
                   'id', e.event_id, 'type', e.event_type, 'source', e.source, 'bizKey', e.biz_key,
                   'time', e.occurred_at, 'attributes', e.attributes,
                   'correlationId', e.correlation_id, 'causationId', e.causation_id),
               'payload', e.payload) || d.extra::jsonb as body
    from unnest($1::integer[], $2::uuid[], $3::text[]) d (no, event_uid, extra)
    join rea.work_event e on e.event_uid = d.event_uid
)
select pg_catalog.jsonb_array_length(v.value), case when p.wants_all then v.value::text else (v.value -> 0)::text end
from unnest($4::integer[], $5::text[], $6::boolean[]) with ordinality p (no, path, wants_all, position)
join document d on d.no = p.no
cross join lateral pg_catalog.jsonb_path_query_array_tz(d.body, p.path::jsonpath, '{}', true) v (value)
order by p.position
