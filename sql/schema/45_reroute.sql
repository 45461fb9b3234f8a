-- Events that a person routed anew by the rules in force, and what that replaced.

create table rea.work_reroute (
    event_uid        uuid        not null,
    reroute_time     timestamptz not null,
    route_group      text        not null,
    action           text        not null check (action in ('start', 'restart', 'stop')),
    old_instance_id  uuid,
    workflow_name    text,
    workflow_version integer,
    rerouted_by      name        not null,
    reason           text,
    primary key (event_uid, reroute_time, route_group)
);
comment on table rea.work_reroute is 'What reroute_events did: one row per event and route group';
comment on column rea.work_reroute.event_uid is 'The event';
comment on column rea.work_reroute.reroute_time is 'When reroute_events was called';
comment on column rea.work_reroute.route_group is 'Group whose choice had changed';
comment on column rea.work_reroute.action is
    'start: nothing of the group ran; restart: the old instance was stopped and another takes its place; stop: it was stopped and nothing is chosen any more';
comment on column rea.work_reroute.old_instance_id is 'Instance that was stopped; null for start';
comment on column rea.work_reroute.workflow_name is 'Workflow that the rules chose at that time; null for stop';
comment on column rea.work_reroute.workflow_version is 'Its version; null for stop';
comment on column rea.work_reroute.rerouted_by is 'Role that called reroute_events';
comment on column rea.work_reroute.reason is 'Why, as the caller said';
