-- What administrators and viewers call: rea.grant_admin and rea.grant_viewer give them, nobody has them by default.

create function rea.define_workflow(definition jsonb, expected_version integer default null)
returns integer language c volatile parallel unsafe as 'MODULE_PATHNAME', 'rea_define_workflow';
comment on function rea.define_workflow(jsonb, integer) is
    'Stores a definition as a new version and returns its number; the same definition again is the same version. With expected_version it refuses when the current version is another one (0: none)';

create function rea.validate_workflow(definition jsonb)
returns table (
    severity text,
    path     text,
    code     text,
    message  text,
    hint     text)
language c stable parallel unsafe as 'MODULE_PATHNAME', 'rea_validate_workflow';
comment on function rea.validate_workflow(jsonb) is
    'Every mistake and doubt in a definition: severity error or warning, path as JSON pointer. No row: it is flawless. Stores nothing';

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
    'Stores a route as a new version and returns its number. event_type is exact or ends in .*; in a group the first match wins, lower priority first; match is an object that the payload must contain, or a string with an SQL/JSON path predicate';

create function rea.drop_route(route_name text)
returns void language c volatile parallel unsafe as 'MODULE_PATHNAME', 'rea_drop_route';
comment on function rea.drop_route(text) is
    'Takes a route out of force; its versions stay for the instances it chose';

create function rea.match_event(event_type text, biz_key text, payload jsonb default '{}', attributes jsonb default '{}')
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
    'What an event would start: every route for its type in the order of choice, whether it matches, whether it is chosen, and why. Fires nothing';

create function rea.resume_instance(instance_id uuid)
returns text language c volatile parallel unsafe as 'MODULE_PATHNAME', 'rea_resume_instance';
comment on function rea.resume_instance(uuid) is
    'Lets a PAUSED instance go on; returns its new status';

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
    'The whole story of a business key, an event id or an instance id, in order: kind is event, unrouted, route, status, attempt or dead_letter; subject is the event type, the workflow or the action';

create function rea.worker_seats()
returns table (
    worker_no        integer,
    pid              integer,
    generation       bigint,
    heartbeat_age_ms bigint)
language c stable parallel restricted as 'MODULE_PATHNAME', 'rea_worker_seats';
comment on function rea.worker_seats() is
    'The live workers of this database, as shared memory has them; no row when the library is not preloaded';

create function rea.server_state()
returns jsonb language c stable parallel restricted as 'MODULE_PATHNAME', 'rea_server_state';
comment on function rea.server_state() is
    'What the library knows of itself: {preloaded, libraryVersion, launcherPid, outOfSlots, conflictingRepeats, enabled, workers}';

