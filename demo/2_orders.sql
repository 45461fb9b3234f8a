-- The application at work: it writes its own table and fires an event in the
-- same transaction. The third customer changes his mind.

\set QUIET on
\echo
\echo 2. Three orders, each with its event in one transaction:
\echo '   SO-1001 and SO-1002 commit, SO-1003 rolls back.'

begin;
insert into orders values ('SO-1001', 'tea-pot', 1, 39.90);
select rea.fire_event('order.created', 'SO-1001', '{"sku": "tea-pot", "qty": 1, "amount": 39.90}') as event \gset
commit;

begin;
insert into orders values ('SO-1002', 'cup', 6, 54.00);
select rea.fire_event('order.created', 'SO-1002', '{"sku": "cup", "qty": 6, "amount": 54.00}') as event \gset
commit;

begin;
insert into orders values ('SO-1003', 'spoon', 12, 24.00);
select rea.fire_event('order.created', 'SO-1003', '{"sku": "spoon", "qty": 12, "amount": 24.00}') as event \gset
rollback;
