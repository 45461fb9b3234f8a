-- A database in another encoding than UTF8 is refused at once, with a hint; nothing is left behind in it.
-- How much of the script the context shows differs between versions of PostgreSQL.
\set SHOW_CONTEXT never
select current_database() as here \gset
create database regress_latin1 encoding 'LATIN1' template template0 lc_collate 'C' lc_ctype 'C';
\c regress_latin1
create extension rea;
select count(*) as left_behind from pg_namespace n where n.nspname = 'rea';
\c :here
drop database regress_latin1;
