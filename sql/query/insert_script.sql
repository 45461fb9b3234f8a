-- Stores a version of a script and puts it in force; the one before must be out of force.
-- $1 script name, $2 version, $3 source, $4 oid of the role that defines it
insert into rea.script (script_name, version, active, source, defined_by, create_time)
values ($1, $2, true, $3, pg_catalog.pg_get_userbyid($4), pg_catalog.clock_timestamp())
