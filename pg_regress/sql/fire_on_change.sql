-- fire_on_change: a trigger turns row changes into events, in the transaction that changes the rows.
create table regress.orders (id integer primary key, "order no" text, amount numeric(12, 2), note text);
create trigger fire_order after insert or update or delete on regress.orders
    for each row execute function rea.fire_on_change('change.order', 'id');
insert into regress.orders values (1, 'SO-1', 39.90, null), (2, 'SO-2', 5, 'ö');
update regress.orders set amount = amount + 0.10 where id = 1;
delete from regress.orders where id = 2;
begin;
insert into regress.orders values (3, 'SO-3', 1, null);
rollback;
select e.event_type, e.biz_key, e.payload from rea.work_event e where e.event_type = 'change.order' order by e.event_uid;
-- The key's column may have any name, but it must be there, and its value too.
create table regress.lines ("order no" text, item integer);
create trigger fire_line after insert on regress.lines for each row execute function rea.fire_on_change('change.line', 'order no');
insert into regress.lines values ('SO-1', 7);
select e.biz_key, e.payload from rea.work_event e where e.event_type = 'change.line';
insert into regress.lines values (null, 8);
drop trigger fire_line on regress.lines;
create trigger fire_line after insert on regress.lines for each row execute function rea.fire_on_change('change.line', 'missing');
insert into regress.lines values ('SO-2', 7);
-- Used in another way than the manual's, it says so.
drop trigger fire_line on regress.lines;
create trigger fire_line before insert on regress.lines for each row execute function rea.fire_on_change('change.line', 'item');
insert into regress.lines values ('SO-2', 7);
drop trigger fire_line on regress.lines;
create trigger fire_line after insert on regress.lines for each statement execute function rea.fire_on_change('change.line', 'item');
insert into regress.lines values ('SO-2', 7);
drop trigger fire_line on regress.lines;
create trigger fire_line after insert on regress.lines for each row execute function rea.fire_on_change('change.line');
insert into regress.lines values ('SO-2', 7);
drop trigger fire_line on regress.lines;
select count(*) as lines from regress.lines;
-- Columns added later appear by themselves.
alter table regress.orders add column state text default 'new';
insert into regress.orders values (4, 'SO-4', 2, null);
select e.payload -> 'new' ->> 'state' as state from rea.work_event e where e.event_type = 'change.order' and e.biz_key = '4';
-- A deferred trigger fires at the very end of the transaction, and the event is routed like any other.
create table regress.deferred (id integer);
create constraint trigger fire_late after insert on regress.deferred deferrable initially deferred
    for each row execute function rea.fire_on_change('change.deferred', 'id');
begin;
insert into regress.deferred values (77);
select count(*) as fired from rea.work_event e where e.event_type = 'change.deferred';
commit;
call regress.wait_until_still('77');
select q.event_type, q.status from rea.query_instance('77') q;
