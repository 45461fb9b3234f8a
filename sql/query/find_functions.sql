-- Routines of a schema by name, or all names when $2 is null.
-- $1 schema, $2 name, $3 role that wants to call them
-- Returns name, kind, whether it returns a set, fewest and most arguments (null = any number), whether the first one is
-- json or jsonb, whether the role may call it. A role that is gone may nothing.
select p.proname::text, p.prokind::text, p.proretset, (p.pronargs - p.pronargdefaults)::integer,
       case when p.provariadic = 0 then p.pronargs::integer end,
       coalesce(p.proargtypes[0] in ('json'::pg_catalog.regtype, 'jsonb'::pg_catalog.regtype), false),
       coalesce(pg_catalog.has_schema_privilege($3::oid, n.oid, 'usage')
                and pg_catalog.has_function_privilege($3::oid, p.oid, 'execute'), false)
from pg_catalog.pg_proc p
join pg_catalog.pg_namespace n on n.oid = p.pronamespace
where n.nspname = $1::text and ($2::text is null or p.proname = $2::text)
order by p.oid
