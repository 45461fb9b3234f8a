-- Schedules: what an expression means, what is refused, what a tick's event carries. Ticks over crashes are in
-- tests/schedules.rs.
set timezone = 'UTC';

-- What an expression means: times of day come once a day, intervals go on evenly.
select rea.next_runs('30 2 * * *', 'Europe/Berlin', 3, '2026-03-28') as spring;
select rea.next_runs('30 2 * * *', 'Europe/Berlin', 3, '2026-10-24') as autumn;
select rea.next_runs('*/30 * * * *', 'Europe/Berlin', 6, '2026-10-24 23:59') as evenly;
select rea.next_runs('0 9 L * *', 'America/New_York', 3, '2028-01-15') as last_day;
select rea.next_runs('0 9 * * MON#1', after => '2026-01-01', n => 2) as first_monday;
select rea.next_runs('0 0 29 2 *', after => '2096-03-01', n => 1) as leap_day;
select rea.next_runs('*/20 * * * * *', after => '2026-01-01', n => 3) as with_seconds;
select rea.next_runs('@daily', after => '2026-01-01 12:00', n => 2) as nickname;
select rea.next_runs('*/40 * * * *', after => '2026-01-01', n => 3) as restarts_each_hour;
select rea.next_runs('0 0 1 * MON', after => '2026-01-31 12:00', n => 3) as either_day;
select rea.next_runs('0 0 1 * +SUN', after => '2026-01-01', n => 2) as both_days;
select count(*) as never from rea.next_runs('0 0 30 2 *');
select count(*) as runs, min(r) > now() as after_now from rea.next_runs('0 * * * *', n => 1000) r;

-- What is refused, at once
call regress.refused($$ select rea.define_schedule('bad', '0 0 30 2 *', 'UTC', 'x') $$);
call regress.refused($$ select rea.define_schedule('bad', '0 0 31 4,6 *', 'UTC', 'x') $$);
call regress.refused($$ select rea.define_schedule('bad', '0 0 0 1 1 * 2020', 'UTC', 'x') $$);
call regress.refused($$ select rea.define_schedule('bad', '', 'UTC', 'x') $$);
call regress.refused($$ select rea.define_schedule('bad', '* * * *', 'UTC', 'x') $$);
call regress.refused($$ select rea.define_schedule('bad', '0 24 * * *', 'UTC', 'x') $$);
call regress.refused($$ select rea.define_schedule('bad', '5-1 * * * *', 'UTC', 'x') $$);
call regress.refused($$ select rea.define_schedule('bad', '*/0 * * * *', 'UTC', 'x') $$);
call regress.refused($$ select rea.define_schedule('bad', '@reboot', 'UTC', 'x') $$);
call regress.refused($$ select rea.define_schedule('bad', repeat('1,', 5000) || '1 * * * *', 'UTC', 'x') $$);
call regress.refused($$ select rea.define_schedule('bad', '* * * * *', 'Europe/Berln', 'x') $$);
call regress.refused($$ select rea.define_schedule('bad', '* * * * *', 'UTC', 'x', catch_up => 'some') $$);
call regress.refused($$ select rea.define_schedule('bad', '* * * * *', 'UTC', 'x', catch_up_limit => 0) $$);
call regress.refused($$ select rea.define_schedule('bad', '* * * * *', 'UTC', '') $$);
call regress.refused($$ select rea.define_schedule('', '* * * * *', 'UTC', 'x') $$);
call regress.refused($$ select rea.define_schedule('bad', '* * * * *', 'UTC', 'x', attributes => '[]') $$);
call regress.refused($$ select rea.define_schedule('bad', '* * * * *', 'UTC', 'x', payload => null) $$);
call regress.refused($$ select rea.define_schedule('bad', '* * * * *', 'UTC', 'x', repeat('k', 1025)) $$);
call regress.refused($$ select rea.define_schedule('bad', null, 'UTC', 'x') $$);
call regress.refused($$ select rea.next_runs('* * * * *', n => 0) $$);
call regress.refused($$ select rea.next_runs('* * * * *', after => 'infinity') $$);
call regress.refused($$ select rea.drop_schedule('nobody') $$);
call regress.refused($$ select rea.pause_schedule('nobody') $$);
call regress.refused($$ select rea.resume_schedule('nobody') $$);
call regress.refused($$ select rea.fire_event('x', 'K', event_id => 'bad@1', source => 'rea.schedule') $$);
select count(*) as stored from rea.schedules;

-- A tick's event
select rea.define_schedule('each', '* * * * * *', 'Asia/Tokyo', 'schedule.each', payload => '{"n": 1.50}', attributes => '{"channel": "clock"}')
       between now() and now() + interval '2 s' as comes_soon;
call regress.wait_for($$ count(*) >= 2 from rea.events where event_type = 'schedule.each' $$);
select rea.pause_schedule('each');
select event_id ~ '^each@\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$' as id, source, biz_key, payload, attributes - 'tick' as attributes,
       event_id = 'each@' || (attributes ->> 'tick') as same_tick, (attributes ->> 'tick')::timestamptz = occurred_at as occurred_then,
       fired_by = current_user as fired_by_definer
from rea.events where event_type = 'schedule.each' order by event_uid limit 1;
select paused, next_time, last_time is not null as has_fired, misfires, error from rea.schedules;

-- Redefined: replaced; a paused one stays paused.
select rea.define_schedule('each', '0 3 * * *', 'UTC', 'schedule.other', 'K', catch_up => 'all', catch_up_limit => 7) as next;
select cron, timezone, event_type, biz_key, payload, attributes, catch_up, catch_up_limit, paused, next_time, last_time is not null as has_fired
from rea.schedules;
select rea.resume_schedule('each') = (select rea.next_runs('0 3 * * *', n => 1)) as resumed;
select rea.resume_schedule('each') = (select next_time from rea.schedules) as again;
select rea.drop_schedule('each');
select count(*) as left from rea.schedules;
reset timezone;
