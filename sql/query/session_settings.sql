-- What ALTER DATABASE and ALTER ROLE set for a new session of a role in this database: the more special later.
-- $1 role
select pg_catalog.split_part(c.entry, '=', 1), pg_catalog.substr(c.entry, pg_catalog.strpos(c.entry, '=') + 1)
from pg_catalog.pg_db_role_setting s
cross join lateral pg_catalog.unnest(s.setconfig) with ordinality c (entry, position)
where s.setrole in (0, $1)
  and s.setdatabase in (0, (select d.oid from pg_catalog.pg_database d where d.datname = pg_catalog.current_database()))
order by s.setrole <> 0, s.setdatabase <> 0, c.position
