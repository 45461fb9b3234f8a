-- Evaluates SQL/JSON paths against one context document, as evaluate.sql does against those of instances.
-- $1 the document, JSON text; $2 the paths, $3 whether all matches of a path are wanted, as an array
-- Returns, in the order of the paths: number of matches, and the array or the first match as text.
select pg_catalog.jsonb_array_length(v.value), case when p.many then v.value::text else (v.value -> 0)::text end
from (select $1::text::jsonb as body offset 0) c
cross join unnest($2::text[], $3::boolean[]) with ordinality p (path, many, position)
cross join lateral pg_catalog.jsonb_path_query_array_tz(c.body, p.path::jsonpath, '{}', true) v (value)
order by p.position
