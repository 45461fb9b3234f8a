-- Schedules, for administrators: rea.grant_admin gives the functions, rea.grant_viewer the view and next_runs.

create function rea.define_schedule(
    schedule_name  text,
    cron           text,
    timezone       text,
    event_type     text,
    biz_key        text    default null,
    payload        jsonb   default '{}',
    catch_up       text    default 'one',
    catch_up_limit integer default 100,
    attributes     jsonb   default '{}')
returns timestamptz language c volatile parallel unsafe as 'MODULE_PATHNAME', 'rea_define_schedule';
comment on function rea.define_schedule(text, text, text, text, text, jsonb, text, integer, jsonb) is
    'Fires an event at each tick of a cron expression in a time zone; returns the next tick, null while it is paused. '
    'The same name again replaces the schedule. biz_key defaults to its name. catch_up says what happens to ticks '
    'missed during a downtime: skip, one (the latest stands for all) or all (up to catch_up_limit)';

create function rea.drop_schedule(schedule_name text)
returns void language c volatile parallel unsafe as 'MODULE_PATHNAME', 'rea_drop_schedule';
comment on function rea.drop_schedule(text) is 'Removes a schedule; what it fired goes on';

create function rea.pause_schedule(schedule_name text)
returns void language c volatile parallel unsafe as 'MODULE_PATHNAME', 'rea_pause_schedule';
comment on function rea.pause_schedule(text) is
    'Keeps a schedule from firing until resume_schedule; ticks that pass meanwhile never fire';

create function rea.resume_schedule(schedule_name text)
returns timestamptz language c volatile parallel unsafe as 'MODULE_PATHNAME', 'rea_resume_schedule';
comment on function rea.resume_schedule(text) is 'Lets a paused schedule fire again; returns its next tick';

create function rea.next_runs(
    cron     text,
    timezone text        default 'UTC',
    n        integer     default 5,
    after    timestamptz default now())
returns setof timestamptz language c stable parallel safe as 'MODULE_PATHNAME', 'rea_next_runs';
comment on function rea.next_runs(text, text, integer, timestamptz) is
    'The next n ticks of a cron expression in a time zone; fewer when no more come. Stores nothing';

create view rea.schedules as
select s.schedule_name, s.cron, s.timezone, s.event_type, s.biz_key, s.payload, s.attributes, s.catch_up,
       s.catch_up_limit, s.paused, s.next_time, s.last_time, s.misfires, s.error, s.defined_by, s.create_time,
       s.update_time
from rea.schedule s;
comment on view rea.schedules is 'Schedules: when each fires next, when it fired last';
comment on column rea.schedules.next_time is 'The next tick; null while paused and when none comes any more';
comment on column rea.schedules.last_time is 'The last tick that fired; null when none has';
comment on column rea.schedules.misfires is 'Ticks left out after downtimes, since it was created';
comment on column rea.schedules.error is 'Why a worker paused it; null when none did';
