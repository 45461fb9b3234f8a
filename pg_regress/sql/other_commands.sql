-- Commands that have nothing to do with rea behave as if it were not loaded: their errors arrive with SQLSTATE, detail, hint, context, position and names.
create table regress.plain (id integer constraint plain_positive check (id > 0), word text);
do $$ begin raise exception 'inside a block' using errcode = 'AB123', detail = 'a detail', hint = 'a hint'; end $$;
do $$ begin perform 1 / 0; end $$;
create procedure regress.fails() language plpgsql as $$ begin raise exception 'inside a procedure' using errcode = 'AB124'; end $$;
call regress.fails();
\echo :LAST_ERROR_SQLSTATE
alter table regress.plain add constraint plain_missing check (missing > 0);
create index on regress.plain (missing);
copy regress.plain from stdin;
1	fine
none	bad
\.
insert into regress.plain values (1, 'a'), (1, 'b');
create unique index plain_once on regress.plain (id);
create table regress.broken (id regress_missing_type);
drop database regress_missing;
alter database regress_missing rename to regress_other;
create database regress_other template regress_missing;
-- What an error handler sees
create procedure regress.handles(command text) language plpgsql as $$
declare
    state text; message text; detail text; hint text; context text; column_name text; constraint_name text; table_name text; schema_name text; type_name text;
begin
    execute command;
exception when others then
    get stacked diagnostics state = returned_sqlstate, message = message_text, detail = pg_exception_detail, hint = pg_exception_hint, context = pg_exception_context,
        column_name = column_name, constraint_name = constraint_name, table_name = table_name, schema_name = schema_name, type_name = pg_datatype_name;
    raise notice '% % | % | % | % | column % constraint % table %.% type %', state, message, detail, hint, split_part(context, E'\n', 1), column_name, constraint_name, schema_name, table_name, type_name;
end
$$;
call regress.handles($$ do 'begin raise exception ''told'' using errcode = ''AB125'', detail = ''d'', hint = ''h'', column = ''c'', constraint = ''k'', table = ''t'', schema = ''s'', datatype = ''y''; end' $$);
call regress.handles('create unique index on regress.plain (id)');
call regress.handles('call regress.fails()');
call regress.handles($$ do 'begin insert into regress.plain values (0); end' $$);
-- A statement that is cancelled says so.
set statement_timeout = '50ms';
do $$ begin perform pg_sleep(10); end $$;
reset statement_timeout;
-- Transactions control as ever
do $$ begin insert into regress.plain values (7, 'committed'); commit; insert into regress.plain values (8, 'undone'); rollback; end $$;
select * from regress.plain where id > 6;
drop procedure regress.handles, regress.fails;
drop table regress.plain;
