-- When the clock fires: schedules. A worker fires what is due and writes when the next tick comes.

create table rea.schedule (
    schedule_name  text        primary key,
    cron           text        not null,
    timezone       text        not null,
    event_type     text        not null,
    biz_key        text        not null,
    payload        jsonb       not null,
    attributes     jsonb       not null,
    catch_up       text        not null check (catch_up in ('skip', 'one', 'all')),
    catch_up_limit integer     not null check (catch_up_limit between 1 and 1000),
    paused         boolean     not null,
    next_time      timestamptz,
    last_time      timestamptz,
    misfires       bigint      not null,
    error          text,
    defined_by     name        not null,
    create_time    timestamptz not null,
    update_time    timestamptz not null,
    check (not paused or next_time is null)
) with (fillfactor = 70);
create index schedule_next_time on rea.schedule (next_time);
comment on table rea.schedule is 'Schedules: each tick fires an event';
comment on column rea.schedule.schedule_name is 'Name of the schedule';
comment on column rea.schedule.cron is 'Cron expression: (seconds) minutes hours day-of-month month day-of-week (year)';
comment on column rea.schedule.timezone is 'Time zone of the expression, a name of the IANA database';
comment on column rea.schedule.event_type is 'Type of the events';
comment on column rea.schedule.biz_key is 'Business key of the events';
comment on column rea.schedule.payload is 'Payload of the events';
comment on column rea.schedule.attributes is 'Attributes of the events, beside schedule, tick and missed';
comment on column rea.schedule.catch_up is
    'What happens to missed ticks: skip, one (the latest stands for all), all (up to catch_up_limit)';
comment on column rea.schedule.catch_up_limit is 'Events at most in one catch-up, for all';
comment on column rea.schedule.paused is 'Whether it fires nothing: pause_schedule, or see error';
comment on column rea.schedule.next_time is 'The next tick; null while paused and when none comes any more';
comment on column rea.schedule.last_time is 'The last tick that fired; null when none has';
comment on column rea.schedule.misfires is
    'Ticks left out after downtimes, since it was created; at most 10,000 are counted for each downtime';
comment on column rea.schedule.error is 'Why a worker paused it; null when none did';
comment on column rea.schedule.defined_by is 'Role that defined it; its events are fired by that role';
comment on column rea.schedule.create_time is 'When it was first defined';
comment on column rea.schedule.update_time is 'When it was last defined, paused or resumed';
