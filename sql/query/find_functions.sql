-- Routines of a schema by name, or all of them when $2 is null.
-- $1 schema, $2 name, $3 role that wants to call them
-- Returns name, kind, whether it returns a set, fewest and most arguments (100 for VARIADIC), whether the first one is
-- jsonb, whether it can take jsonb, json included, and whether the role may call it.
select p.proname::text, p.prokind::text, p.proretset, (p.pronargs - p.pronargdefaults)::integer,
       case when p.provariadic = 0 then p.pronargs else 100 end::integer,
       coalesce(p.proargtypes[0] = 'jsonb'::regtype, false),
       coalesce(p.proargtypes[0] in ('json'::regtype, 'jsonb'::regtype, 'anyelement'::regtype, 'anynonarray'::regtype,
                                     'anycompatible'::regtype, 'anycompatiblenonarray'::regtype), false),
       coalesce(pg_catalog.has_schema_privilege($3::oid, n.oid, 'usage')
                and pg_catalog.has_function_privilege($3::oid, p.oid, 'execute'), false)
from pg_catalog.pg_proc p
join pg_catalog.pg_namespace n on n.oid = p.pronamespace
where n.nspname = $1::text and ($2::text is null or p.proname = $2::text)
order by p.oid
