-- What a workflow would do: played in memory, nothing is sent and nothing is stored.

create function rea.simulate(workflow jsonb, event jsonb, mocks jsonb default '{}')
returns table (
    at         interval,
    path       text,
    kind       text,
    subject    text,
    status     text,
    attempt_no integer,
    error_code text,
    detail     text,
    cost_ms    bigint,
    request    jsonb,
    output     jsonb)
language c stable parallel unsafe as 'MODULE_PATHNAME', 'rea_simulate_definition';
comment on function rea.simulate(jsonb, jsonb, jsonb) is
    'Plays a definition on a virtual clock by the decisions of the worker. event: an object with the arguments of'
    ' fire_event; mocks: what actions come to, and events that come later. A row per event, attempt and change of status,'
    ' at the time since the begin; path is the instance, request what would be sent, output what is kept';

create function rea.simulate(
    workflow_name text,
    event         jsonb,
    mocks         jsonb   default '{}',
    version       integer default null)
returns table (
    at         interval,
    path       text,
    kind       text,
    subject    text,
    status     text,
    attempt_no integer,
    error_code text,
    detail     text,
    cost_ms    bigint,
    request    jsonb,
    output     jsonb)
language c stable parallel unsafe as 'MODULE_PATHNAME', 'rea_simulate_stored';
comment on function rea.simulate(text, jsonb, jsonb, integer) is
    'Plays a stored workflow, by default in the version in force; see simulate(jsonb, jsonb, jsonb)';
