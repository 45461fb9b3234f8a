-- Scripts: what administrators call to define, try and configure them, and what viewers see of them.

create function rea.define_script(script_name text, source text, expected_version integer default null)
returns integer language c volatile parallel unsafe as 'MODULE_PATHNAME', 'rea_define_script';
comment on function rea.define_script(text, text, integer) is
    'Stores a Luau source as a new version and returns its number; the source in force again is the same version. With '
    'expected_version it refuses when the current version is another one (0: there is none)';

create function rea.drop_script(script_name text)
returns void language c volatile parallel unsafe as 'MODULE_PATHNAME', 'rea_drop_script';
comment on function rea.drop_script(text) is
    'Takes a script out of force, unless a workflow in force names it; its versions stay for those who pinned them';

create function rea.set_config(key text, value jsonb)
returns void language c volatile parallel unsafe as 'MODULE_PATHNAME', 'rea_set_config';
comment on function rea.set_config(text, jsonb) is
    'Sets what scripts read under a key with rea.config; null removes it';

create function rea.test_script(
    source     text,
    ctx        jsonb   default '{}',
    args       jsonb   default '{}',
    runs       integer default 1,
    mocks      jsonb   default '{}',
    timeout_ms integer default 10000,
    memory_mb  integer default 64)
returns table (
    outcome      text,
    result       jsonb,
    error_code   text,
    error        text,
    log          jsonb,
    calls        jsonb,
    kv           jsonb,
    runs_done    integer,
    mean_ms      double precision,
    max_ms       double precision,
    mean_cpu_ms  double precision,
    peak_memory_kb integer)
language c volatile parallel unsafe as 'MODULE_PATHNAME', 'rea_test_script';
comment on function rea.test_script(text, jsonb, jsonb, integer, jsonb, integer, integer) is
    'Runs a source in this session and tells how it ended and what it took; sends nothing and stores nothing. rea.http '
    'is answered from mocks, an object of URL to {status, headers, body}; rea.kv begins empty, rea.config is real';

create view rea.scripts as
select s.script_name, s.version, s.active, s.source, s.defined_by, s.create_time from rea.script s;
comment on view rea.scripts is 'Every version of every script with its source';
comment on column rea.scripts.active is 'Whether new instances start with this version';

create view rea.configuration as
select c.key, c.value, c.updated_by, c.update_time from rea.config c;
comment on view rea.configuration is 'What scripts read with rea.config';

create view rea.kv as
select k.workflow_name, k.key, k.value, k.expire_time, k.update_time
from rea.work_kv k
where k.expire_time is null or k.expire_time > statement_timestamp();
comment on view rea.kv is 'State of scripts, per workflow: what rea.kv.get finds';
