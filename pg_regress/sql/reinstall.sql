-- The extension comes and goes: a worker never stands in its way, and a session that knew the old one goes on with the new one.
select current_database() as here \gset
create database regress_again;
\c regress_again
create procedure pg_temp.wait_for(condition text) language plpgsql as $$
declare
    fulfilled boolean;
begin
    for turn in 1 .. 1500 loop
        execute 'select ' || condition into fulfilled;
        if fulfilled then return; end if;
        commit;
        perform pg_sleep(0.02);
    end loop;
    raise exception 'waited in vain for: %', condition;
end
$$;
begin;
create extension rea;
select rea.fire_event('again.made', 'AG-0') is not null as fired;
rollback;
select count(*) as left_behind from pg_namespace where nspname = 'rea';
create extension rea;
select rea.fire_event('again.made', 'AG-1', event_id => 'AG-1', source => 'shop');
call pg_temp.wait_for($$ rea.operation('AG-1', 'shop') ->> 'status' = 'UNROUTED' $$);
drop extension rea;
select count(*) as left_behind from pg_class c join pg_namespace n on n.oid = c.relnamespace where n.nspname = 'rea';
create extension rea;
select rea.operation('AG-1', 'shop') as forgotten;
select rea.fire_event('again.made', 'AG-2', event_id => 'AG-1', source => 'shop');
call pg_temp.wait_for($$ rea.operation('AG-1', 'shop') ->> 'status' = 'UNROUTED' $$);
select status from rea.query_instance('AG-2');
-- What users built on it is not taken away in silence.
create table orders (id integer);
create trigger follow_up after insert on orders for each row execute function rea.fire_on_change('again.row', 'id');
drop extension rea;
drop trigger follow_up on orders;
drop extension rea;
-- Without the extension no worker stays in the database.
call pg_temp.wait_for($$ not exists (select from pg_stat_activity a where a.datname = current_database() and a.pid <> pg_backend_pid()) $$);
\c :here
drop database regress_again;
-- A database with a worker at work is renamed, copied and dropped like any other: the worker makes way and comes back.
create database regress_busy;
\c regress_busy
create extension rea;
create procedure wait_for_worker() language plpgsql as $$
begin
    for turn in 1 .. 1500 loop
        if exists (select from rea.live_worker) then return; end if;
        commit;
        perform pg_sleep(0.02);
    end loop;
    raise exception 'waited in vain for a worker';
end
$$;
call wait_for_worker();
select w.pid as worker from rea.live_worker w where w.kind = 'main' \gset
\c :here
-- Whoever may not do it sends no worker away.
create role regress_stranger createdb;
set session authorization regress_stranger;
drop database regress_busy;
alter database regress_busy rename to regress_renamed;
create database regress_copy template regress_busy;
reset session authorization;
drop role regress_stranger;
select count(*) as still_there from pg_stat_activity a where a.pid = :worker;
alter database regress_busy rename to regress_renamed;
\c regress_renamed
call wait_for_worker();
\c :here
create database regress_copy template regress_renamed;
\c regress_renamed
call wait_for_worker();
\c :here
drop database regress_renamed;
drop database regress_copy;
-- A transaction block refuses it as ever.
begin;
drop database regress_busy;
rollback;
