-- What must follow: workflows, their immutable versions, and the routes that choose them.

create table rea.workflow (
    workflow_name   text        primary key,
    current_version integer     not null,
    enabled         boolean     not null,
    update_time     timestamptz not null
);
comment on table rea.workflow is 'One row per workflow: which version new instances start with';
comment on column rea.workflow.workflow_name is 'Name given by the definition';
comment on column rea.workflow.current_version is 'Version that new instances start with';
comment on column rea.workflow.enabled is 'False after disable_workflow: its routes match nothing, running instances finish';
comment on column rea.workflow.update_time is 'When version or state last changed';

create table rea.workflow_version (
    workflow_name text        not null references rea.workflow,
    version       integer     not null,
    definition    jsonb       not null,
    defined_by    name        not null,
    create_time   timestamptz not null,
    primary key (workflow_name, version)
);
comment on table rea.workflow_version is 'Definitions, immutable and numbered from 1; instances keep the version they started with';
comment on column rea.workflow_version.workflow_name is 'The workflow';
comment on column rea.workflow_version.version is 'Number of this version, from 1';
comment on column rea.workflow_version.definition is 'The definition as given to define_workflow';
comment on column rea.workflow_version.defined_by is 'Role that defined it';
comment on column rea.workflow_version.create_time is 'When it was defined';

create table rea.route (
    route_name     text        not null,
    version        integer     not null,
    active         boolean     not null,
    event_type     text        not null,
    type_prefix    text        generated always as (
                       case when event_type like '%.*' then pg_catalog.left(event_type, -1) end) stored,
    workflow_name  text        not null references rea.workflow,
    route_group    text        not null,
    priority       integer     not null,
    match_contains jsonb,
    match_path     jsonpath,
    from_workflow  boolean     not null,
    defined_by     name        not null,
    create_time    timestamptz not null,
    primary key (route_name, version),
    check (match_contains is null or match_path is null)
);
create unique index route_one_active on rea.route (route_name) where active;
create index route_event_type on rea.route (event_type) where active;
create index route_type_prefix on rea.route (type_prefix) where active and type_prefix is not null;
comment on table rea.route is 'Routing rules: a change adds a version, an instance records which one chose it';
comment on column rea.route.route_name is 'Name of the route; a workflow''s triggerEvent makes one of the workflow''s name';
comment on column rea.route.version is 'Number of this version, from 1';
comment on column rea.route.active is 'True for the version in force; none is after drop_route';
comment on column rea.route.event_type is 'Event type it matches: exact, or a prefix that ends in .*';
comment on column rea.route.type_prefix is 'The prefix with its dot; null when event_type is exact';
comment on column rea.route.workflow_name is 'Workflow that a matching event starts';
comment on column rea.route.route_group is 'In one group the first matching route wins; every group gets its chance';
comment on column rea.route.priority is 'Order inside the group, lower first';
comment on column rea.route.match_contains is 'The payload must contain this object (jsonb containment)';
comment on column rea.route.match_path is 'SQL/JSON path predicate over event and payload';
comment on column rea.route.from_workflow is 'True when triggerEvent made it: it follows the definition';
comment on column rea.route.defined_by is 'Role that defined it';
comment on column rea.route.create_time is 'When this version was defined';
