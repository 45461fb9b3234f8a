-- What administrators call to change rules while instances run: compare, carry over, run again, route anew.

create function rea.diff_workflow(workflow_name text, v1 integer, v2 integer default null)
returns table (
    path        text,
    change      text,
    action_name text,
    old         jsonb,
    new         jsonb)
language c stable parallel unsafe as 'MODULE_PATHNAME', 'rea_diff_workflow';
comment on function rea.diff_workflow(text, integer, integer) is
    'What is different between two versions of a workflow; v2 null: the one in force. change is added, removed, changed'
    ' or moved; actions are matched by name. path is a JSON pointer into v2, into v1 for what was removed; old and new'
    ' are positions for what was moved';

create function rea.exported_schedule(schedule rea.schedule)
returns jsonb language sql stable parallel safe set search_path = pg_catalog, pg_temp
return jsonb_build_object(
    'scheduleName', (schedule).schedule_name, 'cron', (schedule).cron, 'timezone', (schedule).timezone,
    'eventType', (schedule).event_type, 'bizKey', (schedule).biz_key, 'payload', (schedule).payload,
    'attributes', (schedule).attributes, 'catchUp', (schedule).catch_up, 'catchUpLimit', (schedule).catch_up_limit,
    'paused', (schedule).paused);
comment on function rea.exported_schedule(rea.schedule) is 'Part of export_definitions: what it says of a schedule';

-- Run as the owner: they need no caller, and whoever may call them may read all of this in the views.
create function rea.export_definitions()
returns jsonb language sql stable parallel restricted security definer set search_path = pg_catalog, pg_temp
as $export$
    select jsonb_build_object(
        'config', coalesce((select jsonb_object_agg(c.key, c.value) from rea.config c), '{}'),
        'scripts', coalesce((
            select jsonb_agg(
                       jsonb_build_object('scriptName', s.script_name, 'source', string_to_array(s.source, E'\n'))
                       order by s.script_name collate "C")
            from rea.script s where s.active), '[]'),
        'workflows', coalesce((
            select jsonb_agg(v.definition order by v.workflow_name collate "C")
            from rea.workflow w
            join rea.workflow_version v on v.workflow_name = w.workflow_name and v.version = w.current_version), '[]'),
        'disabled', coalesce((
            select jsonb_agg(w.workflow_name order by w.workflow_name collate "C")
            from rea.workflow w where not w.enabled), '[]'),
        'routes', coalesce((
            select jsonb_agg(
                       jsonb_build_object(
                           'routeName', r.route_name, 'eventType', r.event_type, 'workflowName', r.workflow_name,
                           'routeGroup', r.route_group, 'priority', r.priority)
                       || case when r.match_contains is not null then jsonb_build_object('match', r.match_contains)
                               when r.match_path is not null then jsonb_build_object('match', r.match_path::text)
                               else '{}' end
                       order by r.route_name collate "C")
            from rea.route r where r.active and not r.from_workflow), '[]'),
        'schedules', coalesce((
            select jsonb_agg(rea.exported_schedule(s) order by s.schedule_name collate "C")
            from rea.schedule s), '[]'))
$export$;
comment on function rea.export_definitions() is
    'All definitions in force as one document for import_definitions: config values, scripts by'
    ' lines, workflows, those of them that are disabled, routes, schedules. In a stable order and without versions and times, so that it can be kept in version control';

create function rea.export_events(from_time timestamptz, to_time timestamptz, event_type text default null)
returns setof jsonb
language sql stable parallel restricted security definer set search_path = pg_catalog, pg_temp
as $export$
    -- Types are walked along their index; each is then a range of it.
    with recursive type as (
        (select e.event_type from rea.work_event e order by e.event_type limit 1)
        union all
        select (select e.event_type from rea.work_event e where e.event_type > t.event_type order by e.event_type limit 1)
        from type t where t.event_type is not null
    )
    select jsonb_build_object(
        'eventUid', e.event_uid, 'event_type', e.event_type, 'biz_key', e.biz_key, 'payload', e.payload,
        'event_id', e.event_id, 'source', e.source, 'attributes', e.attributes, 'correlation_id', e.correlation_id,
        'causation_id', e.causation_id, 'occurred_at', e.occurred_at, 'fire_at', e.fire_at)
    from type t
    join rea.work_event e
        on e.event_type = t.event_type and e.create_time >= export_events.from_time
       and e.create_time < export_events.to_time
    where export_events.event_type is null or t.event_type = export_events.event_type
       or export_events.event_type like '%.*' and starts_with(t.event_type, left(export_events.event_type, -1))
    order by e.create_time, e.event_uid
$export$;
comment on function rea.export_events(timestamptz, timestamptz, text) is
    'Events fired from from_time on and before to_time, oldest first, each an object with the arguments of fire_event'
    ' and eventUid; fire_events takes an array of them. event_type is exact or ends in .*';

create function rea.rerun_event(event_id text, source text default '')
returns text language c volatile parallel unsafe as 'MODULE_PATHNAME', 'rea_rerun_event';
comment on function rea.rerun_event(text, text) is
    'Fires an event once more, as a new event of the caller that starts new instances with new idempotency keys by the'
    ' rules in force; returns the new event id. Attribute rerunOf and the causation id name the old one';

create function rea.reroute_events(
    filter     jsonb,
    dry_run    boolean default true,
    compensate boolean default false,
    max_events integer default 1000,
    reason     text    default null)
returns table (
    event_uid       uuid,
    event_id        text,
    source          text,
    event_type      text,
    biz_key         text,
    route_group     text,
    old_workflow    text,
    old_version     integer,
    old_route       text,
    old_status      text,
    old_instance_id uuid,
    new_workflow    text,
    new_version     integer,
    new_route       text,
    changed         boolean,
    action          text,
    left_over       bigint)
language c volatile parallel unsafe as 'MODULE_PATHNAME', 'rea_reroute_events';
comment on function rea.reroute_events(jsonb, boolean, boolean, integer, text) is
    'What past events started, and what the rules in force choose for them, by route group; action: none, start (nothing'
    ' ran there), restart and stop (the old instance is cancelled), leave (it has ended). Unless dry_run it is done.'
    ' left_over: events beyond max_events for which something can be done';

create function rea.read_definitions(definitions jsonb)
returns table (
    kind    text,
    name    text,
    body    jsonb,
    problem text)
language c immutable parallel safe as 'MODULE_PATHNAME', 'rea_read_definitions';
comment on function rea.read_definitions(jsonb) is
    'Part of import_definitions: the entries of a document in the order in which they are needed, or what is wrong';

create function rea.import_entry(kind text, name text, body jsonb, before jsonb)
returns jsonb language plpgsql volatile parallel unsafe set search_path = pg_catalog, pg_temp as $body$
declare
    version integer;
    message_told text;
    detail_told text;
    hint_told text;
begin
    case kind
        when 'config' then
            perform rea.set_config(name, body);
        when 'script' then
            version := rea.define_script(name, body #>> '{}');
        when 'workflow' then
            -- What is in force as it stands is not defined again, so that its warnings are not repeated.
            select w.version into version from rea.workflows w
            where w.workflow_name = import_entry.name and w.current
              and (w.enabled or not (body ->> 'enabled')::boolean)
              and w.definition = body -> 'definition'
              and (before ->> 'route' is not null) = ((body -> 'definition') ? 'triggerEvent');
            if not found then
                version := rea.define_workflow(body -> 'definition');
            end if;
            if not (body ->> 'enabled')::boolean then
                perform rea.disable_workflow(name);
            end if;
        when 'route' then
            version := rea.define_route(
                name, body ->> 'eventType', body ->> 'workflowName', coalesce(body ->> 'routeGroup', 'default'),
                coalesce((body ->> 'priority')::numeric::integer, 0), nullif(body -> 'match', 'null'));
        when 'schedule' then
            body := '{"timezone": "UTC", "payload": {}, "attributes": {}, "catchUp": "one", "catchUpLimit": 100, "paused": false}'
                    || jsonb_build_object('bizKey', name) || body;
            -- Whoever defines it anew is the one who fires its events: not for nothing.
            if before is distinct from body then
                perform rea.define_schedule(
                    name, body ->> 'cron', body ->> 'timezone', body ->> 'eventType', body ->> 'bizKey',
                    body -> 'payload', body ->> 'catchUp', (body ->> 'catchUpLimit')::numeric::integer,
                    body -> 'attributes');
                if (body ->> 'paused')::boolean then
                    perform rea.pause_schedule(name);
                elsif (before ->> 'paused')::boolean then
                    perform rea.resume_schedule(name);
                end if;
            end if;
    end case;
    return jsonb_build_object('version', version, 'action', case
        when before is null then 'created'
        when before = rea.entry_state(kind, name) then 'unchanged'
        else 'changed' end);
exception when others then
    get stacked diagnostics message_told = message_text, detail_told = pg_exception_detail,
        hint_told = pg_exception_hint;
    return jsonb_build_object('action', 'refused', 'tied', sqlstate = '42710', 'problem',
        -- The detail of a bad definition lists all mistakes with their hints.
        case when sqlstate = '22023' and detail_told <> '' then detail_told
             else concat_ws(E'\n', message_told, nullif(detail_told, ''), nullif(hint_told, '')) end);
end
$body$;
comment on function rea.import_entry(text, text, jsonb, jsonb) is
    'Part of import_definitions: defines one entry, whose state was before; {action, version, problem, tied}';

-- Runs as the owner; whoever may call it may read all of this in the views.
create function rea.entry_state(kind text, name text)
returns jsonb language sql stable parallel restricted security definer set search_path = pg_catalog, pg_temp
as $state$
    select case entry_state.kind
        when 'config' then (
            select jsonb_build_object('value', c.value) from rea.config c where c.key = entry_state.name)
        when 'script' then (
            select jsonb_build_object('version', s.version) from rea.script s
            where s.script_name = entry_state.name and s.active)
        when 'workflow' then (
            select jsonb_build_object('version', w.current_version, 'enabled', w.enabled, 'route', (
                       select r.version from rea.route r
                       where r.route_name = w.workflow_name and r.active and r.from_workflow))
            from rea.workflow w where w.workflow_name = entry_state.name)
        when 'route' then (
            select jsonb_build_object('version', r.version) from rea.route r
            where r.route_name = entry_state.name and r.active)
        when 'schedule' then (
            select rea.exported_schedule(s) from rea.schedule s where s.schedule_name = entry_state.name)
    end
$state$;
comment on function rea.entry_state(text, text) is
    'Part of import_definitions: what changes when an entry changes; null when there is none of that name';

-- Every definition goes through its own function, in the caller's name. An entry that is refused is tried again after
-- the others, since it may need one of them. Routes that only change places are in each other's way: those are taken
-- out of force first, once nothing else helps.
create function rea.import_definitions(definitions jsonb, dry_run boolean default false)
returns table (kind text, name text, action text, version integer, problem text)
language plpgsql volatile parallel unsafe set search_path = pg_catalog, pg_temp as $body$
declare
    entries jsonb[];
    results jsonb[];
    states jsonb[];
    untried integer[];
    refused integer[];
    place integer;
    freed boolean := false;
begin
    if definitions is null or dry_run is null then
        raise exception 'definitions and dry_run must not be null' using errcode = 'null_value_not_allowed';
    end if;
    entries := array(select to_jsonb(r) from rea.read_definitions(definitions) r);
    results := array_fill('{}'::jsonb, array[cardinality(entries)]);
    states := array(select rea.entry_state(e ->> 'kind', e ->> 'name') from unnest(entries) e);
    for place in 1 .. cardinality(entries) loop
        if entries[place] ->> 'problem' is null then
            untried := untried || place;
        else
            results[place] := jsonb_build_object('action', 'refused', 'problem', entries[place] ->> 'problem');
        end if;
    end loop;
    begin
        while cardinality(untried) > 0 loop
            refused := '{}';
            foreach place in array untried loop
                results[place] := rea.import_entry(
                    entries[place] ->> 'kind', entries[place] ->> 'name', entries[place] -> 'body', states[place]);
                if results[place] ->> 'action' = 'refused' then
                    refused := refused || place;
                end if;
            end loop;
            if cardinality(refused) = cardinality(untried) then
                exit when freed;
                freed := true;
                perform rea.drop_route(r.route_name)
                from rea.routes r
                where r.active and r.route_name in (
                    select entries[p] ->> 'name' from unnest(refused) p where (results[p] ->> 'tied')::boolean);
            end if;
            untried := refused;
        end loop;
        if dry_run or exists (select from unnest(results) r where r ->> 'action' = 'refused') then
            raise exception using errcode = 'REDRY';
        end if;
    exception when sqlstate 'REDRY' then
        null;
    end;
    if not dry_run and exists (select from unnest(results) r where r ->> 'action' = 'refused') then
        raise exception 'nothing was imported: % of % entries refused',
            (select count(*) from unnest(results) r where r ->> 'action' = 'refused'), cardinality(entries)
            using errcode = 'invalid_parameter_value',
                  detail = (select string_agg(format('%s %s: %s', e ->> 'kind', e ->> 'name', r ->> 'problem'), E'\n')
                            from unnest(entries, results) u (e, r) where r ->> 'action' = 'refused'),
                  hint = 'With dry_run => true every entry is shown and nothing is changed.';
    end if;
    return query
        select u.e ->> 'kind', u.e ->> 'name', u.r ->> 'action', (u.r ->> 'version')::integer, u.r ->> 'problem'
        from unnest(entries, results) with ordinality u (e, r, position) order by u.position;
end
$body$;
comment on function rea.import_definitions(jsonb, boolean) is
    'Defines what a document of export_definitions says, all of it or nothing; also takes rules in the older form. A'
    ' row per entry: created, changed, unchanged or refused. What the document does not name stays. dry_run: tells, and'
    ' changes nothing';
