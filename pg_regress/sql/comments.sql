-- Every object of the schema says what it is for: tables, columns, views, functions.
select c.oid::regclass as relation_without_comment from pg_class c
where c.relnamespace = 'rea'::regnamespace and c.relkind in ('r', 'v', 'm', 'p') and obj_description(c.oid, 'pg_class') is null order by 1;
select format('%s.%s', c.relname, a.attname) as table_column_without_comment
from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
where c.relnamespace = 'rea'::regnamespace and c.relkind in ('r', 'p') and col_description(c.oid, a.attnum) is null order by 1;
select p.oid::regprocedure as function_without_comment from pg_proc p
where p.pronamespace = 'rea'::regnamespace and obj_description(p.oid, 'pg_proc') is null order by 1;
select obj_description(e.oid, 'pg_extension') as extension from pg_extension e where e.extname = 'rea';
-- What there is, so that a new object is noticed here.
select c.relkind, string_agg(c.relname, ' ' order by c.relname) as names from pg_class c
where c.relnamespace = 'rea'::regnamespace and c.relkind in ('r', 'v', 'S') group by 1 order by 1;
select p.oid::regprocedure as function, p.provolatile as volatile, p.prosecdef as definer from pg_proc p
where p.pronamespace = 'rea'::regnamespace order by p.proname, p.pronargs;
-- All of them belong to the extension, and it owns nothing outside the schema.
select c.oid::regclass as stray from pg_class c
where c.relnamespace = 'rea'::regnamespace and c.relkind in ('r', 'v', 'S')
  and not exists (select from pg_depend d where d.classid = 'pg_class'::regclass and d.objid = c.oid and d.deptype in ('e', 'i'));
select pg_describe_object(d.classid, d.objid, 0) as outside from pg_depend d
join pg_extension e on d.refclassid = 'pg_extension'::regclass and d.refobjid = e.oid and e.extname = 'rea' and d.deptype = 'e'
where pg_describe_object(d.classid, d.objid, 0) !~ ' rea\.' and d.classid <> 'pg_namespace'::regclass;
select t.oid::regtype as type_without_comment from pg_type t left join pg_class c on c.oid = t.typrelid
where t.typnamespace = 'rea'::regnamespace and (t.typtype <> 'c' or c.relkind = 'c') and t.typelem = 0 and obj_description(t.oid, 'pg_type') is null order by 1;
