-- What scripts are and what they read: sources, configuration, and the key-value store that keeps their state.

create table rea.script (
    script_name text        not null,
    version     integer     not null,
    active      boolean     not null,
    source      text        not null,
    defined_by  name        not null,
    create_time timestamptz not null,
    primary key (script_name, version)
);
create unique index script_one_active on rea.script (script_name) where active;
comment on table rea.script is 'Scripts: sources are immutable, a change adds a version';
comment on column rea.script.script_name is 'Name of the script';
comment on column rea.script.version is 'Number of this version, from 1';
comment on column rea.script.active is 'True for the version that new instances start with; none is after drop_script';
comment on column rea.script.source is 'Luau source';
comment on column rea.script.defined_by is 'Role that defined it';
comment on column rea.script.create_time is 'When this version was defined';

create table rea.config (
    key         text        primary key,
    value       jsonb       not null,
    updated_by  name        not null,
    update_time timestamptz not null
);
comment on table rea.config is 'What scripts read with rea.config';
comment on column rea.config.key is 'The key';
comment on column rea.config.value is 'The value';
comment on column rea.config.updated_by is 'Role that set it';
comment on column rea.config.update_time is 'When it was set';

create table rea.work_kv (
    workflow_name text        not null,
    key           text        not null,
    value         jsonb       not null,
    expire_time   timestamptz,
    update_time   timestamptz not null,
    primary key (workflow_name, key)
) with (fillfactor = 70);
create index work_kv_expire_time on rea.work_kv (expire_time) where expire_time is not null;
comment on table rea.work_kv is 'State of scripts, per workflow: what rea.kv.set has left';
comment on column rea.work_kv.workflow_name is 'The workflow whose scripts see it';
comment on column rea.work_kv.key is 'The key';
comment on column rea.work_kv.value is 'The value';
comment on column rea.work_kv.expire_time is 'From then on it counts as absent, and is removed by and by; null: never';
comment on column rea.work_kv.update_time is 'When it was set';
