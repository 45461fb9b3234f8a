-- Parses an SQL/JSON path; raises when it is none. Returns whether it is a predicate: those give exactly one boolean or
-- null for any document, other paths do not for an empty one.
-- $1 path
select coalesce(pg_catalog.jsonb_array_length(r.found) = 1
                and pg_catalog.jsonb_typeof(r.found -> 0) in ('boolean', 'null'), false)
from pg_catalog.jsonb_path_query_array_tz('{}', $1::jsonpath, '{}', true) r (found)
