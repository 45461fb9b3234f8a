-- What administrators and viewers call: rea.grant_admin and rea.grant_viewer give them, nobody has them by default.

create function rea.define_workflow(definition jsonb, expected_version integer default null)
returns integer language c volatile parallel unsafe as 'MODULE_PATHNAME', 'rea_define_workflow';
comment on function rea.define_workflow(jsonb, integer) is
    'Stores a definition as a new version and returns its number; the same definition again is the same version. With'
    ' expected_version it refuses when the current version is another one';

create function rea.validate_workflow(definition jsonb)
returns table (
    severity text,
    path     text,
    code     text,
    message  text,
    hint     text)
language c stable parallel unsafe as 'MODULE_PATHNAME', 'rea_validate_workflow';
comment on function rea.validate_workflow(jsonb) is
    'Every mistake and doubt in a definition: severity error or warning, path as JSON pointer. No row: it is '
    'flawless. Stores nothing';

create function rea.disable_workflow(workflow_name text)
returns void language c volatile parallel unsafe as 'MODULE_PATHNAME', 'rea_disable_workflow';
comment on function rea.disable_workflow(text) is
    'Keeps a workflow from starting: its routes match nothing; instances that run go on to their end';

create function rea.enable_workflow(workflow_name text)
returns void language c volatile parallel unsafe as 'MODULE_PATHNAME', 'rea_enable_workflow';
comment on function rea.enable_workflow(text) is
    'Lets a disabled workflow start again; events that came meanwhile stay as they were routed';

create function rea.define_route(
    route_name       text,
    event_type       text,
    workflow_name    text,
    route_group      text    default 'default',
    priority         integer default 0,
    match            jsonb   default null,
    expected_version integer default null)
returns integer language c volatile parallel unsafe as 'MODULE_PATHNAME', 'rea_define_route';
comment on function rea.define_route(text, text, text, text, integer, jsonb, integer) is
    'Stores a route as a new version and returns its number. event_type is exact or ends in .*; in a group the first '
    'match wins, lower priority first; match is an object that the payload must contain, or a string with an SQL/JSON'
    ' path predicate';

create function rea.drop_route(route_name text)
returns void language c volatile parallel unsafe as 'MODULE_PATHNAME', 'rea_drop_route';
comment on function rea.drop_route(text) is
    'Takes a route out of force; its versions stay for the instances it chose';

create function rea.match_event(
    event_type text,
    biz_key    text,
    payload    jsonb default '{}',
    attributes jsonb default '{}')
returns table (
    route_name    text,
    version       integer,
    route_group   text,
    priority      integer,
    workflow_name text,
    matched       boolean,
    chosen        boolean,
    why           text)
language c stable parallel unsafe as 'MODULE_PATHNAME', 'rea_match_event';
comment on function rea.match_event(text, text, jsonb, jsonb) is
    'What an event would start: every route for its type in the order of choice, whether it matches, whether it is '
    'chosen, and why. Fires nothing';

create function rea.cancel_instance(instance_id uuid, compensate boolean default false, reason text default null)
returns text language c volatile parallel unsafe as 'MODULE_PATHNAME', 'rea_cancel_instance';
comment on function rea.cancel_instance(uuid, boolean, text) is
    'Ends an instance and its branches CANCELLED, between two actions; with compensate it undoes first what it did. Returns '
    'the status at the moment; an attempt in flight is waited for';

create function rea.pause_instance(instance_id uuid, reason text default null)
returns text language c volatile parallel unsafe as 'MODULE_PATHNAME', 'rea_pause_instance';
comment on function rea.pause_instance(uuid, text) is
    'Stops an instance and its branches between two actions until resume_instance; returns the status at the moment. Time '
    'spent paused does not count for timeoutSeconds';

create function rea.resume_instance(instance_id uuid)
returns text language c volatile parallel unsafe as 'MODULE_PATHNAME', 'rea_resume_instance';
comment on function rea.resume_instance(uuid) is
    'Lets a PAUSED instance and its branches go on, or withdraws a pause not carried out yet; returns its new status';

create function rea.timeline(what text)
returns table (
    at          timestamptz,
    kind        text,
    instance_id uuid,
    subject     text,
    status      text,
    detail      text,
    cost_ms     integer)
language c stable parallel unsafe as 'MODULE_PATHNAME', 'rea_timeline';
comment on function rea.timeline(text) is
    'The whole story of a business key, an event id or an instance id, in order: kind is event, unrouted, route, '
    'status, attempt, reroute or dead_letter; subject is the event type, the workflow or the action';

create function rea.worker_seats()
returns table (
    worker_no        integer,
    pid              integer,
    generation       bigint,
    heartbeat_age_ms bigint,
    kind             text)
language c stable parallel restricted as 'MODULE_PATHNAME', 'rea_worker_seats';
comment on function rea.worker_seats() is
    'The workers of this database, as shared memory has them; no row when the library is not preloaded. kind is main, or '
    'sql for those that make calls in the database';

create view rea.live_worker as
select w.worker_no, w.pid, w.generation, w.heartbeat_age_ms, w.kind
from rea.worker_seats() w
where w.generation <> 0
  and (w.kind = 'sql' or w.heartbeat_age_ms <
       coalesce(1000 * extract(epoch from current_setting('rea.heartbeat_timeout', true)::interval), 30000));
comment on view rea.live_worker is
    'Workers that have started and moved within rea.heartbeat_timeout, and SQL workers as long as their process lives; '
    'granted to nobody, the other views read it';

create function rea.server_state()
returns jsonb language c stable parallel restricted as 'MODULE_PATHNAME', 'rea_server_state';
comment on function rea.server_state() is
    'What the library knows of itself: {preloaded, libraryVersion, launcherPid, outOfSlots, conflictingRepeats, '
    'enabled, workers, sqlWorkers}';

-- Runs as the owner: it needs no caller, and what it tells holds no business data.
create function rea.doctor()
returns table (check_name text, status text, detail text, remedy text)
language sql stable parallel restricted security definer set search_path = pg_catalog, pg_temp
as $doctor$
    with recursive server as materialized (
        select (r.state ->> 'preloaded')::boolean as preloaded,
               coalesce((r.state ->> 'launcherPid')::integer, 0) as launcher_pid,
               (r.state ->> 'outOfSlots')::boolean as out_of_slots,
               (r.state ->> 'conflictingRepeats')::bigint as repeats,
               (r.state ->> 'enabled')::boolean as enabled,
               (r.state ->> 'workers')::integer as workers,
               (r.state ->> 'sqlWorkers')::integer as sql_workers,
               r.state ->> 'libraryVersion' as library_version,
               (select e.extversion from pg_extension e where e.extname = 'rea') as extension_version,
               pg_is_in_recovery() as standby
        from rea.server_state() r (state)
    ), live as materialized (
        select count(*) filter (where w.kind = 'main') as workers, count(*) filter (where w.kind = 'sql') as sql_workers
        from rea.live_worker w
    ), lane as (
        (select q.lane from rea.work_queue q order by q.lane limit 1)
        union all
        select (select q.lane from rea.work_queue q where q.lane > l.lane order by q.lane limit 1)
        from lane l where l.lane is not null
    ), queue as materialized (
        select greatest(extract(epoch from clock_timestamp()) - extract(epoch from min(d.due_time)), 0) as late,
               coalesce(sum(p.instances), 0) as paused
        from lane l
        left join lateral (
            select q.due_time from rea.work_queue q
            where q.lane = l.lane and q.owner_generation is null order by q.due_time limit 1) d on true
        left join lateral (
            select count(*) as instances from rea.work_queue q where q.lane = l.lane and q.due_time = 'infinity' and l.lane <> '~wait') p on true
        where l.lane is not null
    ), inbox as materialized (
        select extract(epoch from clock_timestamp() - min(o.create_time)) as late
        from (select e.create_time from rea.work_inbox i join rea.work_event e on e.event_uid = i.event_uid
              order by i.inbox_id limit 1) o
    ), unrouted as materialized (
        select count(*) as events from (select from rea.work_unrouted o where o.reason not in ('awaited', 'cancelled') limit 10000) u
    ), stuck as materialized (
        select (select count(*) from (
                    select from rea.work_signal s where s.create_time < clock_timestamp() - interval '1 minute' limit 10000) s)
                   as signals,
               count(*) filter (where q.owner_generation is null) as requests,
               count(*) filter (where q.owner_generation is not null) as in_flight
        from (select r.instance_id from rea.work_request r
              where r.create_time < clock_timestamp() - interval '1 minute' limit 10000) r
        left join rea.work_queue q on q.instance_id = r.instance_id
    ), open_wait as materialized (
        select count(*) as waits, count(*) filter (where w.until is null) as endless
        from (select v.until from rea.waits v where v.kind in ('event', 'time') limit 10000) w
    ), dead as materialized (
        select count(*) as letters from (select from rea.work_dead_letter limit 10000) d
    )
    select c.check_name, c.status, c.detail, case when c.status <> 'ok' then c.remedy end
    from server s cross join live l cross join queue q cross join inbox i cross join unrouted u cross join dead d
    cross join stuck k cross join open_wait w
    cross join lateral (values
        (1, 'preloaded', case when s.preloaded then 'ok' else 'error' end,
         case when s.preloaded then 'the library is loaded at server start'
              else 'the library is not loaded at server start: events are stored, nothing runs' end,
         'Add rea to shared_preload_libraries and restart the server.'),
        (2, 'launcher', case when s.launcher_pid <> 0 or s.standby then 'ok' else 'error' end,
         case when s.standby then 'this server is a standby: nothing runs until it is promoted'
              when s.launcher_pid <> 0 then format('running, pid %s', s.launcher_pid)
              else 'not running' end,
         'Make sure that the library is preloaded and max_worker_processes leaves room, then restart the server.'),
        (3, 'workers', case when l.workers >= s.workers or s.standby then 'ok'
                            when l.workers > 0 then 'warning' else 'error' end,
         format('%s of %s running in this database', l.workers, s.workers),
         case when s.out_of_slots
              then 'No background worker slot is free: raise max_worker_processes and restart the server.'
              else 'They start within seconds; if they do not, the server log says why.' end),
        (4, 'versions', case when s.extension_version = s.library_version then 'ok' else 'error' end,
         format('extension %s, library %s', s.extension_version, s.library_version),
         'Run ALTER EXTENSION rea UPDATE in this database; if the library is the older one, restart the server.'),
        (5, 'enabled', case when s.enabled then 'ok' else 'warning' end,
         case when s.enabled then 'rea.enabled is on' else 'rea.enabled is off: nothing is routed or sent' end,
         'Run ALTER SYSTEM SET rea.enabled = on, then SELECT pg_reload_conf().'),
        (6, 'inbox', case when i.late > 60 then 'warning' else 'ok' end,
         case when i.late > 0 then format('the oldest event that is not routed yet has waited for %s s', round(i.late, 1))
              else 'every event is routed' end,
         'See the checks above first; then the view rea.backlog, above all its row xmin holder.'),
        (7, 'queue', case when q.late > 60 then 'warning' else 'ok' end,
         case when q.late > 0 then format('the oldest instance that may start has waited for %s s', round(q.late, 1))
              else 'no instance is late' end,
         'Look for the slowest actions first (rea.slow_actions), then at their downstream (rea.lanes), only then raise '
         'rea.lane_max_in_flight or rea.http_threads.'),
        (8, 'unrouted', case when u.events > 0 then 'warning' else 'ok' end,
         format('%s%s events that no route matched', u.events, case when u.events = 10000 then ' or more' end),
         'The view rea.events shows them as UNROUTED, rea.match_event says why; define the missing route, then '
         'call rea.reroute_events(''{"status": "UNROUTED"}'', dry_run => false).'),
        (9, 'dead_letters', case when d.letters > 0 then 'warning' else 'ok' end,
         format('%s%s instances that ended FAILED or DEAD', d.letters, case when d.letters = 10000 then ' or more' end),
         'The view rea.dead_letters says why; mend the cause, then call rea.retry_instance for each.'),
        (10, 'paused', case when q.paused > 0 then 'warning' else 'ok' end,
         format('%s instances that wait for a person', q.paused),
         'The view rea.instances shows them as PAUSED and why; call rea.resume_instance for each.'),
        (11, 'repeats', case when s.repeats > 0 then 'warning' else 'ok' end,
         format('%s events since server start came again with the same id but other contents', s.repeats),
         'The first one counts, the others started nothing: make sure that different events have different ids.'),
        (12, 'sql_workers', case when l.sql_workers >= s.sql_workers or s.standby then 'ok' else 'warning' end,
         format('%s of %s running in this database', l.sql_workers, s.sql_workers),
         case when s.out_of_slots
              then 'No background worker slot is free: raise max_worker_processes and restart the server.'
              else 'Local actions and messages wait for them. They start within seconds; if they do not, the server log '
                   'says why.' end),
        (13, 'signals', case when k.signals + k.requests > 0 then 'warning' else 'ok' end,
         format('%s signals and %s requests to cancel or pause are older than a minute; %s such requests wait for the end '
                'of an attempt', k.signals, k.requests, k.in_flight),
         'A worker takes them within a second: see the checks workers and enabled, then the server log.'),
        (14, 'waits', 'ok',
         format('%s%s waits for an event or a time, %s of them without a timeout', w.waits,
                case when w.waits = 10000 then ' or more' end, w.endless), null)
    ) c (position, check_name, status, detail, remedy)
    order by c.position
$doctor$;
comment on function rea.doctor() is
    'Says whether everything is right: a row per check with status ok, warning or error, and what to do about it';
