-- Who may call what. Nothing is granted to anybody by default; the three functions of this file hand out exactly the
-- functions and views of the manual, never a table. They run as their caller: GRANT itself decides whether he may.

create function rea.grant_app(role name)
returns void language plpgsql volatile parallel unsafe set search_path = pg_catalog, pg_temp
as $grant$
begin
    perform rea.check_role(grant_app.role);
    execute format('grant usage on schema rea to %I', grant_app.role);
    execute format(
        'grant execute on function rea.fire_event, rea.fire_events, rea.fire_on_change, rea.cancel_event, '
        'rea.query_instance, rea.retry_instance, rea.operation(text, text), rea.operation(uuid), rea.wait_operation to %I', grant_app.role);
end
$grant$;
comment on function rea.grant_app(name) is
    'Lets a role fire events, and see and retry what its own events started';

create function rea.grant_viewer(role name)
returns void language plpgsql volatile parallel unsafe set search_path = pg_catalog, pg_temp
as $grant$
begin
    perform rea.check_role(grant_viewer.role);
    execute format('grant usage on schema rea to %I', grant_viewer.role);
    execute format(
        'grant select on rea.events, rea.instances, rea.waits, rea.dead_letters, rea.lanes, rea.slow_actions, rea.backlog, '
        'rea.workers, rea.workflows, rea.routes, rea.schedules, rea.reroutes, '
        'rea.scripts, rea.configuration, rea.kv to %I', grant_viewer.role);
    execute format(
        'grant execute on function rea.timeline, rea.match_event, rea.validate_workflow, rea.doctor, '
        'rea.worker_seats, rea.server_state, rea.next_runs, rea.query_instance, rea.operation(text, text), rea.operation(uuid), '
        'rea.blocks, rea.block, rea.instance_words, rea.instance_steps to %I',
        grant_viewer.role);
    execute format(
        'grant execute on function rea.diff_workflow, rea.export_definitions, rea.export_events to %I',
        grant_viewer.role);
end
$grant$;
comment on function rea.grant_viewer(name) is
    'Lets a role read everything: the views, timelines, and what doctor() says. It sees payloads and errors of all '
    'events';

create function rea.grant_admin(role name)
returns void language plpgsql volatile parallel unsafe set search_path = pg_catalog, pg_temp
as $grant$
begin
    perform rea.grant_viewer(grant_admin.role);
    perform rea.grant_app(grant_admin.role);
    execute format(
        'grant execute on function rea.define_workflow, rea.disable_workflow, rea.enable_workflow, rea.define_route, '
        'rea.drop_route, rea.cancel_instance, rea.pause_instance, rea.resume_instance, rea.define_schedule, '
        'rea.drop_schedule, rea.pause_schedule, rea.resume_schedule to %I', grant_admin.role);
    execute format(
        'grant execute on function rea.import_definitions, rea.read_definitions, rea.import_entry, rea.entry_state, '
        'rea.rerun_event, rea.reroute_events, rea.define_script, rea.drop_script, rea.set_config, '
        'rea.test_script, rea.simulate(jsonb, jsonb, jsonb), rea.simulate(text, jsonb, jsonb, integer) to %I',
        grant_admin.role);
end
$grant$;
comment on function rea.grant_admin(name) is
    'Lets a role define workflows and routes, besides everything that viewers and applications may do';

create function rea.check_role(role name)
returns void language plpgsql stable parallel unsafe set search_path = pg_catalog, pg_temp
as $check$
begin
    if check_role.role is null then
        raise exception 'role must not be null' using errcode = 'null_value_not_allowed';
    end if;
    if not exists (select from pg_roles r where r.rolname = check_role.role) then
        raise exception 'role "%" does not exist', check_role.role
            using errcode = 'undefined_object',
                  hint = 'Create it first; the name is taken as it stands, without folding to lower case.';
    end if;
end
$check$;
comment on function rea.check_role(name) is 'Part of the grant functions: refuses a role that does not exist (42704)';

revoke execute on all functions in schema rea from public;
