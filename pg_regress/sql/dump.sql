-- pg_dump carries what users made and what ran: every table but the two that describe processes of this server.
select c.relname as carried, nullif(x.condition, '') as condition
from pg_extension e cross join unnest(e.extconfig, e.extcondition) x (relation, condition) join pg_class c on c.oid = x.relation
where e.extname = 'rea' order by 1;
select c.relname as left_out from pg_class c
where c.relnamespace = 'rea'::regnamespace and c.relkind in ('r', 'S')
  and c.oid <> all (select unnest(e.extconfig) from pg_extension e where e.extname = 'rea') order by 1;
-- What a carried row refers to is carried too.
select c.conrelid::regclass as from_table, c.confrelid::regclass as to_table_left_out from pg_constraint c
where c.connamespace = 'rea'::regnamespace and c.contype = 'f'
  and c.confrelid <> all (select unnest(e.extconfig) from pg_extension e where e.extname = 'rea');
