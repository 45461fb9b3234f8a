-- fire_event: one call in the caller's own transaction. What it takes, what it refuses, and that an id counts once.
-- These events match no route; what was stored is what counts here.
create view regress.fired as
select e.event_type, e.biz_key, e.event_id, e.source, e.payload, e.attributes, e.correlation_id, e.causation_id,
       e.occurred_at = e.create_time as occurred_now, e.fired_by
from rea.work_event e where e.event_type like 'fire.%' order by e.event_uid;

-- Two arguments are enough; the id is then a UUID of version 7, and each call is another event.
select rea.fire_event('fire.short', 'F-1') ~ '^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$' as is_uuid_7;
select rea.fire_event('fire.short', 'F-1') <> rea.fire_event('fire.short', 'F-1') as other_event;
select event_type, biz_key, source, payload, attributes, correlation_id, causation_id, occurred_now, fired_by, count(*) from regress.fired
group by 1, 2, 3, 4, 5, 6, 7, 8, 9;
-- All arguments
select rea.fire_event('fire.full', 'F-2', '{"n": 1.10}', event_id => 'E-2', source => 'shop', attributes => '{"channel": "web"}',
                      correlation_id => 'case-7', causation_id => 'E-1', occurred_at => '2026-01-02 03:04:05+00');
select * from regress.fired where event_type = 'fire.full';
-- A payload may be any JSON, a key may be empty.
select rea.fire_event('fire.any', '', p::jsonb) is not null as fired from unnest(array['null', '[]', '7', '"text"', 'true']) p;
select biz_key, payload from regress.fired where event_type = 'fire.any' order by payload::text;

-- The same source and id again: the stored id comes back, nothing is stored.
select rea.fire_event('fire.full', 'F-2', '{"n": 1.10}', 'E-2', 'shop') as again;
-- Another source is another event, and so is no source.
select rea.fire_event('fire.full', 'F-2', '{"n": 1.10}', 'E-2', 'warehouse') as other_source, rea.fire_event('fire.full', 'F-2', '{"n": 1.10}', 'E-2') as no_source;
-- The same id with another type, key or payload: a warning, and still nothing is stored.
select rea.fire_event('fire.full', 'F-2', '{"n": 2}', 'E-2', 'shop') as other_payload;
select rea.fire_event('fire.full', 'F-3', '{"n": 1.10}', 'E-2', 'shop') as other_key;
select rea.fire_event('fire.fuller', 'F-2', '{"n": 1.10}', 'E-2', 'shop') as other_type;
-- Numbers that are equal are the same contents.
select rea.fire_event('fire.full', 'F-2', '{"n": 1.1}', 'E-2', 'shop') as equal_payload;
select source, event_id, count(*), max(payload::text) as payload from regress.fired where event_type like 'fire.full%' group by 1, 2 order by 1;

-- What is refused, with SQLSTATE
call regress.refused($$ select rea.fire_event(null, 'K') $$);
call regress.refused($$ select rea.fire_event('fire.bad', null) $$);
call regress.refused($$ select rea.fire_event('fire.bad', 'K', null) $$);
call regress.refused($$ select rea.fire_event('fire.bad', 'K', source => null) $$);
call regress.refused($$ select rea.fire_event('fire.bad', 'K', attributes => null) $$);
call regress.refused($$ select rea.fire_event('', 'K') $$);
call regress.refused($$ select rea.fire_event('fire.bad', 'K', event_id => '') $$);
call regress.refused($$ select rea.fire_event('fire.bad', 'K', source => 'shop') $$);
call regress.refused($$ select rea.fire_event('fire.bad', 'K', attributes => '[1]') $$);
call regress.refused($$ select rea.fire_event('fire.bad', 'K', attributes => '"text"') $$);
call regress.refused($$ select rea.fire_event('fire.bad', 'K', attributes => '7') $$);
call regress.refused($$ select rea.fire_event('fire.bad', 'K', occurred_at => 'infinity') $$);
call regress.refused($$ select rea.fire_event('fire.bad', 'K', occurred_at => '-infinity') $$);
call regress.refused($$ select rea.fire_event(repeat('x', 256), 'K') $$);
call regress.refused($$ select rea.fire_event('fire.bad', repeat('x', 1025)) $$);
call regress.refused($$ select rea.fire_event('fire.bad', 'K', event_id => repeat('x', 513)) $$);
call regress.refused($$ select rea.fire_event('fire.bad', 'K', event_id => 'E', source => repeat('x', 256)) $$);
call regress.refused($$ select rea.fire_event('fire.bad', 'K', correlation_id => repeat('x', 513)) $$);
call regress.refused($$ select rea.fire_event('fire.bad', 'K', causation_id => repeat('x', 513)) $$);
-- Limits are bytes: 128 characters of two bytes each are 256.
call regress.refused($$ select rea.fire_event(repeat('ö', 128), 'K') $$);
select count(*) as stored from regress.fired where event_type = 'fire.bad';
-- The limits themselves are allowed, also for text that no index page could hold uncompressed together.
select length(rea.fire_event(rpad('fire.', 255, md5('t')), rpad('K', 1024, md5('k')), event_id => rpad('E', 512, md5('e')), source => rpad('S', 255, md5('s')))) as id_length;

-- The event belongs to the caller's transaction: it comes and goes with it.
begin;
select rea.fire_event('fire.rolled_back', 'F-4', event_id => 'E-4') as id;
rollback;
begin;
savepoint a;
select rea.fire_event('fire.savepoint', 'F-5', event_id => 'E-5') as undone;
rollback to a;
select rea.fire_event('fire.savepoint', 'F-6', event_id => 'E-6') as kept;
release a;
commit;
select event_type, event_id from regress.fired where event_type in ('fire.rolled_back', 'fire.savepoint');
select count(*) as inbox_rows from rea.work_inbox i left join rea.work_event e using (event_uid) where e.event_uid is null or e.event_id in ('E-4', 'E-5');
-- An id whose transaction rolled back is free again.
select rea.fire_event('fire.rolled_back', 'F-4', event_id => 'E-4') as id;
select event_type, event_id from regress.fired where event_id = 'E-4';
-- A caught error leaves nothing either, and the transaction goes on.
do $$
begin
    begin
        perform rea.fire_event('fire.caught', 'F-7');
        perform 1 / 0;
    exception when division_by_zero then
        perform rea.fire_event('fire.caught', 'F-8');
    end;
end
$$;
select event_type, biz_key from regress.fired where event_type = 'fire.caught';
-- A read-only transaction refuses it as it refuses any write.
begin read only;
select rea.fire_event('fire.read_only', 'F-9');
rollback;
-- Fired from a function, a CTE and for many rows alike: one event per call, in the order of the calls.
with numbers as (select n from generate_series(1, 3) n order by n) select count(rea.fire_event('fire.many', 'F-' || n)) as fired from numbers;
select biz_key from regress.fired where event_type = 'fire.many';
drop view regress.fired;
