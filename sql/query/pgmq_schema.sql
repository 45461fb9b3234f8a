-- The schema of the extension pgmq, if it has the function send(text, jsonb).
select n.nspname::text
from pg_catalog.pg_extension e
join pg_catalog.pg_depend d
    on d.refclassid = 'pg_catalog.pg_extension'::regclass and d.refobjid = e.oid and d.deptype = 'e'
    and d.classid = 'pg_catalog.pg_proc'::regclass
join pg_catalog.pg_proc p on p.oid = d.objid
join pg_catalog.pg_namespace n on n.oid = p.pronamespace
where e.extname = 'pgmq' and p.proname = 'send' and p.pronargs - p.pronargdefaults <= 2 and p.pronargs >= 2
  and p.proargtypes[0] = 'text'::regtype and p.proargtypes[1] = 'jsonb'::regtype
limit 1
