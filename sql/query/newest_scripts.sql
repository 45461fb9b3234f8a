-- The versions in force of scripts. A name without a row: there is none.
-- $1 script names
select s.script_name, s.version from rea.script s where s.script_name = any ($1) and s.active
