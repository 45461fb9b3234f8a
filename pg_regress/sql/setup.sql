-- The extension is created, its worker starts by itself, and what the other tests share is made.
create extension rea;
select extname, extversion ~ '^\d+\.\d+\.\d+$' as has_version from pg_extension where extname = 'rea';
create schema regress;

-- Waits for a condition, with a fresh snapshot each time; an error after 30 seconds.
create procedure regress.wait_for(condition text) language plpgsql as $$
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
call regress.wait_for('exists (select from rea.live_worker)');

-- Waits until nothing of a business key moves by itself any more.
create procedure regress.wait_until_still(key text) language plpgsql as $$
begin
    call regress.wait_for(format(
        'count(*) > 0 and bool_and(q.status in (''UNROUTED'', ''SUCCESS'', ''FAILED'', ''DEAD'', ''PAUSED'', ''CANCELLED'')) from rea.query_instance(%L) q', key));
end
$$;

-- Where the receiver of these tests listens; definitions write http://receiver instead.
\getenv receiver REA_RECEIVER
create table regress.receiver as select :'receiver'::text as url;
create function regress.define(definition text) returns integer language sql as $$
    select rea.define_workflow(replace(definition, 'http://receiver', (select url from regress.receiver))::jsonb)
$$;
create function regress.hide_receiver(told text) returns text language sql as $$
    select replace(replace(told, (select url from regress.receiver), 'http://receiver'),
                   split_part((select url from regress.receiver), '//', 2), 'receiver')
$$;

-- Fires, waits, and is done: for tests that look at the outcome only.
create procedure regress.run(event_type text, key text, payload jsonb default '{}') language plpgsql as $$
begin
    perform rea.fire_event(event_type, key, payload);
    commit;
    call regress.wait_until_still(key);
end
$$;

-- What became of a business key, without what differs from run to run.
create function regress.outcome(key text)
returns table (workflow text, version integer, status text, action text, retries integer, code text, error text, steps jsonb)
language sql as $$
    select q.workflow_name, q.workflow_version, q.status, q.current_action, q.retry_count, q.error_code,
           regress.hide_receiver(q.error), q.steps
    from rea.query_instance(key) q order by q.create_time, q.workflow_name
$$;

-- The story of a business key, an event or an instance, without times, ids, and the changes of status in between.
create function regress.brief(what text)
returns table (kind text, subject text, status text, detail text)
language sql as $$
    select t.kind, t.subject, t.status,
           left(regress.hide_receiver(regexp_replace(regexp_replace(t.detail,
               '[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}', 'ID', 'g'),
               '\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(\.\d{3})?[+-]\d\d', 'TIME', 'g')), 150)
    from rea.timeline(what) with ordinality t (at, kind, instance_id, subject, status, detail, cost_ms, place)
    where t.kind not in ('status', 'route') or t.status in ('SUCCESS', 'FAILED', 'DEAD', 'CANCELLED', 'PAUSED', 'COMPENSATING')
    order by t.place
$$;

-- Why the instances of a business key do not move, without what differs from run to run.
create function regress.words(key text) returns setof text language sql as $$
    select regexp_replace(regexp_replace(q.waiting_for, 'for \d+\.\d s', 'for N s', 'g'),
                          '\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3}[+-]\d\d', 'TIME', 'g')
    from rea.query_instance(key) q order by q.create_time, q.workflow_name
$$;

-- Calls what must fail and tells the SQLSTATE beside the message, detail and hint.
create procedure regress.refused(call text) language plpgsql as $$
declare
    detail_told text;
    hint_told text;
begin
    execute call;
    raise notice 'not refused';
exception when others then
    get stacked diagnostics detail_told = pg_exception_detail, hint_told = pg_exception_hint;
    raise notice '% %', sqlstate, concat_ws(E'\n  ', regexp_replace(sqlerrm,
        '(?!01900000|00000000)[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}', 'ID', 'g'), 'DETAIL ' || nullif(detail_told, ''), 'HINT ' || nullif(hint_told, ''));
end
$$;

-- The same for a call whose argument another statement finds.
create procedure regress.refused_of(call text, argument text) language plpgsql as $$
declare
    found_value text;
begin
    execute argument into found_value;
    call regress.refused(format(call, found_value));
end
$$;
