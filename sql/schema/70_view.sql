-- What viewers read (rea.grant_viewer), and below them what the reading functions share.
-- A view checks the functions in it against the reader: only built-in ones and those that viewers are granted.
-- The views that name lanes walk the queue's index from lane to lane, and count at most 100,000 rows of each.

create view rea.events as
select e.event_uid, e.event_id, e.source, e.event_type, e.biz_key,
       case when exists (select from rea.work_instance i where i.event_uid = e.event_uid) then 'ROUTED'
            when u.reason = 'cancelled' then 'CANCELLED'
            when u.reason = 'awaited' then 'AWAITED'
            when u.event_uid is not null then 'UNROUTED'
            when d.event_uid is not null then 'SCHEDULED'
            else 'ACCEPTED' end as status,
       (select count(*) from rea.work_instance i where i.event_uid = e.event_uid and i.branch is null) as started,
       u.reason as unrouted_reason,
       e.payload, e.attributes, e.correlation_id, e.causation_id, e.fired_by, e.occurred_at, e.create_time,
       e.fire_at
from rea.work_event e
left join rea.work_unrouted u on u.event_uid = e.event_uid
left join rea.work_delayed d on d.event_uid = e.event_uid;
comment on view rea.events is
    'Every event, and what became of it; order by event_uid desc gives the newest first, by index';
comment on column rea.events.status is
    'ACCEPTED (no worker has looked at it yet), SCHEDULED (fires later), ROUTED, AWAITED (no route matched, an instance '
    'waited for it), UNROUTED (no route matched) or CANCELLED (taken back before it fired)';
comment on column rea.events.started is 'How many instances it started, branches not counted';
comment on column rea.events.unrouted_reason is
    'no_route, match_error when a route could not be evaluated for it, awaited, or cancelled; else null';
comment on column rea.events.fire_at is 'When it was to fire; null when at once';

create view rea.instances as
select i.instance_id, i.event_uid, e.event_type, i.event_id, i.source, i.biz_key,
       i.workflow_name, i.workflow_version, i.route_name, i.route_version, i.status,
       case i.status
           when 'PENDING' then case when i.next_retry_time > statement_timestamp() then 'RETRY_WAIT' else 'READY' end
           when 'WAITING' then 'SUSPENDED'
           when 'PAUSED' then 'MANUAL_REVIEW'
           when 'DEAD' then 'MANUAL_REVIEW'
           when 'RUNNING' then 'RUNNING'
           when 'COMPENSATING' then 'COMPENSATING'
           else 'DONE' end as phase,
       (case when i.branch is null then d.definition -> 'actions' else rea.block(d.definition, i.parent_action, i.branch) end)
           -> i.current_action_index ->> 'name' as current_action,
       i.current_action_index, i.retry_count, i.next_retry_time,
       case when i.end_time is null then rea.instance_words(i.instance_id) end as waiting_for,
       rea.instance_steps(i.instance_id) as steps,
       i.context, i.result, i.error_code, i.error, i.fired_by, i.version,
       i.create_time, i.update_time, i.first_try_time, i.paused_time, i.deadline_time, i.end_time,
       i.parent_instance_id, i.parent_action, i.branch, i.item_index, i.detached, i.end_status, i.compensation, i.undo_no
from rea.work_instance i
left join rea.work_event e on e.event_uid = i.event_uid
left join rea.workflow_version d on d.workflow_name = i.workflow_name and d.version = i.workflow_version;
comment on view rea.instances is
    'Every run of a workflow and of its branches: where it stands and why it is not moving; order by instance_id desc '
    'gives the newest first, by index';
comment on column rea.instances.phase is
    'READY, RETRY_WAIT, RUNNING, SUSPENDED (WAITING), MANUAL_REVIEW (PAUSED or DEAD), COMPENSATING; DONE for SUCCESS, '
    'FAILED and CANCELLED';
comment on column rea.instances.current_action is 'Action that runs now, runs next or failed; null when all are done';
comment on column rea.instances.waiting_for is
    'Why it is not moving, in words, of up to three branches too; null when it has ended';
comment on column rea.instances.steps is
    'Status by action, those of branches included: SUCCESS, FAILED or SKIPPED as recorded; PENDING, RUNNING, WAITING, '
    'RETRY_WAIT, PAUSED, CANCELLED for the rest; name[0], name[1] … inside of foreach, name~undo for what is undone';
comment on column rea.instances.parent_instance_id is
    'Instance that started it as a branch or child workflow; null for one that a route started';
comment on column rea.instances.parent_action is 'Action of the parent that started it';
comment on column rea.instances.branch is 'Branch of that action; null for a child workflow';
comment on column rea.instances.item_index is 'Position of its item of a foreach, from 0; else null';
comment on column rea.instances.detached is 'True for a child workflow that its parent does not wait for';
comment on column rea.instances.end_status is 'Final status it will have once children and compensation are through';
comment on column rea.instances.compensation is
    'running, done, failed (an undo failed for good) or none (nothing to undo); null unless it failed or was cancelled';
comment on column rea.instances.undo_no is 'Undo actions that are through';

create view rea.waits as
select w.instance_id, i.workflow_name, i.biz_key,
       case when w.action_name = '' then 'cancel_on' else 'event' end as kind,
       nullif(w.action_name, '') as action_name, w.event_type, w.biz_key as awaited_key, w.correlation_id,
       coalesce(w.match_contains, to_jsonb(w.match_path::text)) as match, w.since, w.create_time,
       case when w.action_name <> '' and q.due_time > w.create_time and isfinite(q.due_time) then q.due_time
            else i.deadline_time end as until
from rea.work_wait w
join rea.work_instance i on i.instance_id = w.instance_id
left join rea.work_queue q on q.instance_id = w.instance_id
where not exists (select from rea.work_wait_event m
                  where m.instance_id = w.instance_id and m.action_name = w.action_name and m.wait_no = w.wait_no)
union all
select i.instance_id, i.workflow_name, i.biz_key, 'time', c.action ->> 'name', null, null, null, null, i.first_try_time,
       i.first_try_time, q.due_time
from rea.work_queue q
join rea.work_instance i on i.instance_id = q.instance_id
join rea.workflow_version d on d.workflow_name = i.workflow_name and d.version = i.workflow_version
cross join lateral (
    select rea.block(d.definition, i.parent_action, i.branch) -> i.current_action_index offset 0) c (action)
where q.lane = '~wait' and i.status = 'WAITING' and i.end_status is null and i.first_try_time is not null
  and c.action -> 'config' ?| array['durationSeconds', 'until']
union all
select p.instance_id, p.workflow_name, i.biz_key, 'place', null, null, p.place_key, null, null, i.create_time,
       i.create_time, i.deadline_time
from rea.work_place p
join rea.work_instance i on i.instance_id = p.instance_id
where not p.taken;
comment on view rea.waits is 'What instances wait for from outside: events, times, and places of workflows with concurrency';
comment on column rea.waits.kind is 'event, cancel_on (an event that would cancel it), time or place';
comment on column rea.waits.action_name is 'The wait action; null for cancel_on and place';
comment on column rea.waits.event_type is 'Type of the awaited event';
comment on column rea.waits.awaited_key is 'Business key of the awaited event, or the concurrency key; null when a correlation id joins';
comment on column rea.waits.correlation_id is 'Correlation id of the awaited event; null when its business key joins';
comment on column rea.waits.match is 'What its payload must contain, or a path predicate as a string; null: anything';
comment on column rea.waits.since is 'Events from this time on count';
comment on column rea.waits.create_time is 'When the wait began';
comment on column rea.waits.until is 'When it ends by itself: the wait''s timeout, else the instance''s deadline; null: never';

create view rea.dead_letters as
select d.instance_id, d.workflow_name, i.workflow_version, d.biz_key, i.event_id, i.source, d.status, d.action_name,
       i.retry_count, d.error_code, d.error, d.create_time, d.announced_time
from rea.work_dead_letter d
left join rea.work_instance i on i.instance_id = d.instance_id;
comment on view rea.dead_letters is
    'Instances that ended FAILED or DEAD and wait for a person; retry_instance takes them out again';
comment on column rea.dead_letters.announced_time is 'When the alert named it; null when not yet';

create view rea.lanes as
with recursive queued as (
    (select q.lane from rea.work_queue q order by q.lane limit 1)
    union all
    select (select q.lane from rea.work_queue q where q.lane > l.lane order by q.lane limit 1)
    from queued l where l.lane is not null
), lane as (
    select l.lane from queued l where l.lane is not null
    union
    select s.lane from rea.lane_stat s
)
select l.lane, d.due, coalesce(s.in_flight, 0) as in_flight, s.max_in_flight, d.oldest_due,
       round(s.success_count::numeric / nullif(s.success_count + s.failure_count, 0), 3) as success_rate, s.p95_ms,
       case when s.gone then 'gone'
            when s.in_flight >= s.max_in_flight then 'full'
            when d.due > 0 or s.in_flight > 0 then 'ok'
            else 'idle' end as state,
       s.update_time
from lane l
left join rea.lane_stat s on s.lane = l.lane
cross join lateral (
    select count(*) as due, min(b.due_time) as oldest_due
    from (select q.due_time from rea.work_queue q
          where q.lane = l.lane and q.due_time <= statement_timestamp() and q.owner_generation is null
          order by q.due_time limit 100000) b) d;
comment on view rea.lanes is 'The queues in front of the downstreams';
comment on column rea.lanes.due is 'Instances that could start now and wait; counted up to 100,000';
comment on column rea.lanes.in_flight is 'Attempts running or about to run, as of update_time';
comment on column rea.lanes.oldest_due is 'Since when the one that waits longest could have started';
comment on column rea.lanes.success_rate is 'Share of attempts that succeeded, 0 to 1, since the worker started';
comment on column rea.lanes.p95_ms is '95th percentile of the last 128 attempts'' duration in ms';
comment on column rea.lanes.state is
    'ok; idle: nothing to do; full: as many in flight as allowed; gone: the receiver answered 410 Gone';
comment on column rea.lanes.update_time is 'When the worker last wrote about the lane; null when it never has';

-- The primary key begins with the instance id, which grows with time: the newest attempts are found without a scan, and
-- the workflow of each by its key, so that the cost does not grow with the history.
create view rea.slow_actions as
select l.workflow_name, l.action_name, count(*) as attempts, round(avg(l.cost_ms), 1) as avg_ms,
       percentile_disc(0.95) within group (order by l.cost_ms) as p95_ms, max(l.cost_ms) as max_ms,
       count(*) filter (where l.status in ('FAILED', 'LOST') and l.end_time > statement_timestamp() - interval '1 hour')
           as failures_last_hour,
       min(l.start_time) as since
from (
    select (select i.workflow_name from rea.work_instance i where i.instance_id = a.instance_id) as workflow_name,
           a.action_name, a.status, a.cost_ms, a.start_time, a.end_time
    from rea.work_action_log a where a.status <> 'SKIPPED'
    order by a.instance_id desc, a.log_id desc limit 100000
) l
group by l.workflow_name, l.action_name
having not exists (
    select from rea.workflow w
    join rea.workflow_version v on v.workflow_name = w.workflow_name and v.version = w.current_version
    cross join lateral rea.blocks(v.definition) b
    cross join lateral jsonb_array_elements(b.actions) a (action)
    where w.workflow_name = l.workflow_name and a.action ->> 'name' = l.action_name
      and a.action ->> 'type' in ('wait', 'parallel', 'foreach', 'switch', 'workflow'))
order by percentile_disc(0.95) within group (order by l.cost_ms) desc, l.workflow_name, l.action_name;
comment on view rea.slow_actions is
    'How long actions take, slowest first: the 100,000 attempts of the newest instances. Actions that only wait, for '
    'events, times or children, are left out';
comment on column rea.slow_actions.failures_last_hour is 'Failed and lost ones among them that ended in the last hour';
comment on column rea.slow_actions.since is 'Start of the oldest attempt counted';

create view rea.backlog as
with recursive lane as (
    (select q.lane from rea.work_queue q order by q.lane limit 1)
    union all
    select (select q.lane from rea.work_queue q where q.lane > l.lane order by q.lane limit 1)
    from lane l where l.lane is not null
), holder as (
    select format('session %s', a.pid) as name, age(a.backend_xmin) as transactions, a.xact_start as since,
           concat_ws(', ', a.state, 'role ' || a.usename, nullif(a.application_name, '')) as detail
    from pg_stat_activity a
    where a.backend_xmin is not null and a.pid <> pg_backend_pid() and a.datname = current_database()
    union all
    select format('prepared transaction %s', p.gid), age(p.transaction), p.prepared, 'role ' || p.owner
    from pg_prepared_xacts p where p.database = current_database()
    union all
    select format('replication slot %s', r.slot_name), age(r.xmin), null,
           case when r.active then 'active' else 'inactive' end
    from pg_replication_slots r where r.xmin is not null
)
select 'inbox' as part, null as name, c.events as due, 0::bigint as later, o.create_time as oldest,
       statement_timestamp() - o.create_time as age, 'events that are not routed yet' as detail
from (select count(*) as events from (select from rea.work_inbox limit 100000) i) c
left join (
    select e.create_time from rea.work_inbox i join rea.work_event e on e.event_uid = i.event_uid
    order by i.inbox_id limit 1) o on true
union all
select 'lane', l.lane, d.due, w.later, d.oldest, statement_timestamp() - d.oldest,
       'instances that may start, or may later'
from lane l
cross join lateral (
    select count(*) as due, min(b.due_time) as oldest
    from (select q.due_time from rea.work_queue q
          where q.lane = l.lane and q.due_time <= statement_timestamp() and q.owner_generation is null
          order by q.due_time limit 100000) b) d
cross join lateral (
    select count(*) as later
    from (select from rea.work_queue q
          where q.lane = l.lane and q.due_time > statement_timestamp() and q.owner_generation is null limit 100000) b) w
where l.lane is not null
union all
(select 'xmin holder', h.name, null, null, h.since, statement_timestamp() - h.since,
        format('%s; keeps dead rows since %s transactions ago', h.detail, h.transactions)
 from holder h order by h.transactions desc limit 1);
comment on view rea.backlog is
    'What has piled up: a row for the inbox, one per lane with queued instances, and one for what keeps vacuum from '
    'removing dead rows';
comment on column rea.backlog.part is 'inbox, lane or xmin holder';
comment on column rea.backlog.due is 'Rows that could be taken now; counted up to 100,000';
comment on column rea.backlog.later is 'Free rows that are due later, paused ones included; counted up to 100,000';
comment on column rea.backlog.oldest is
    'Since when the oldest of them could have been taken; start of the transaction that holds';
comment on column rea.backlog.age is 'Time since oldest';

create view rea.workers as
select w.worker_no, w.pid, w.generation, w.heartbeat_age_ms, l.pid is not null as live, g.start_time,
       a.state, a.wait_event, a.query as activity, w.kind
from rea.worker_seats() w
left join rea.live_worker l on l.pid = w.pid
left join rea.work_generation g on g.generation = w.generation
left join pg_stat_activity a on a.pid = w.pid;
comment on view rea.workers is 'The workers of this database';
comment on column rea.workers.kind is 'main, or sql for those that make the calls of local actions and messages';
comment on column rea.workers.generation is 'Number of its start; the owner mark of the instances it holds';
comment on column rea.workers.heartbeat_age_ms is 'Time since its last sign of life in ms';
comment on column rea.workers.live is
    'False while it starts, and when its heartbeat is older than rea.heartbeat_timeout: others take its work back';
comment on column rea.workers.activity is
    'What it does; like state and wait_event only shown to members of pg_read_all_stats';

create view rea.workflows as
select v.workflow_name, v.version, v.version = w.current_version as current, w.enabled, v.definition, v.defined_by,
       v.create_time
from rea.workflow_version v
join rea.workflow w on w.workflow_name = v.workflow_name;
comment on view rea.workflows is 'Every version of every workflow with its definition';
comment on column rea.workflows.current is 'Whether new instances start with this version';

create view rea.routes as
select r.route_name, r.version, r.active, r.event_type, r.workflow_name, w.enabled, r.route_group, r.priority,
       coalesce(r.match_contains, to_jsonb(r.match_path::text)) as match, r.from_workflow, r.defined_by, r.create_time
from rea.route r
join rea.workflow w on w.workflow_name = r.workflow_name;
comment on view rea.routes is 'Every version of every route';
comment on column rea.routes.active is 'Whether this version is in force';
comment on column rea.routes.enabled is 'Whether its workflow is enabled';
comment on column rea.routes.match is 'What the payload must contain, or the path predicate as a string; null: any event of the type';

create view rea.reroutes as
select e.event_id, e.source, e.event_type, e.biz_key, r.event_uid, r.route_group, r.action, r.old_instance_id,
       n.instance_id as new_instance_id, r.workflow_name, r.workflow_version, r.rerouted_by, r.reason, r.reroute_time
from rea.work_reroute r
left join rea.work_event e on e.event_uid = r.event_uid
left join lateral (
    select i.instance_id
    from rea.work_instance i
    join rea.route t on t.route_name = i.route_name and t.version = i.route_version and t.route_group = r.route_group
    where r.action <> 'stop' and i.event_uid = r.event_uid and i.parent_instance_id is null
      and i.create_time >= r.reroute_time
    order by i.create_time, i.instance_id limit 1) n on true;
comment on view rea.reroutes is 'What reroute_events did: a row per event and route group';
comment on column rea.reroutes.new_instance_id is 'Instance that started in its place; null until the worker has routed the event';
comment on column rea.reroutes.workflow_name is 'Workflow that the rules chose when reroute_events was called';

-- Granted to nobody: what the reading functions share.

create view rea.operation_part as
select i.instance_id, i.event_uid, i.branch, i.fired_by, i.workflow_name, i.route_name, i.create_time, m.status, m.weight,
       i.steps, i.result, i.compensation, o.look_again,
       exists (select from rea.work_reroute r
               where r.event_uid = i.event_uid and r.old_instance_id = i.instance_id and r.action = 'restart') as replaced,
       case when i.error_code is not null then
                jsonb_build_object('code', i.error_code, 'message', i.error, 'step', i.current_action)
            else o.error end as error
from rea.instances i
left join lateral rea.outlook(i.instance_id) o on i.end_time is null
join (values ('RUNNING', 'RUNNING', 1), ('WAITING', 'RUNNING', 1), ('COMPENSATING', 'RUNNING', 1),
             ('PENDING', 'PENDING', 2), ('PAUSED', 'MANUAL_REVIEW', 3), ('DEAD', 'MANUAL_REVIEW', 4),
             ('FAILED', 'FAILED', 5), ('CANCELLED', 'CANCELLED', 6), ('SUCCESS', 'SUCCEEDED', 7)
     ) m (instance_status, status, weight)
     on m.instance_status = case when i.status in ('PAUSED', 'WAITING')
                                 then case when o.moves then 'RUNNING' else 'PAUSED' end else i.status end;
comment on view rea.operation_part is
    'What each instance adds to the document of operation(); for the reading functions only. One whose live branches are '
    'all paused waits for a person; a paused one whose branches still move is RUNNING';
comment on column rea.operation_part.replaced is
    'Whether reroute_events put another instance in its place; the event''s operation is then that one''s';
comment on column rea.operation_part.weight is
    'The smallest weight of an event''s instances decides the status of its operation';
comment on column rea.operation_part.look_again is 'When to ask again; null once nothing moves by itself any more';

create function rea.may_see(caller oid, fired_by name)
returns boolean language sql stable parallel safe
as $may_see$
    select pg_catalog.has_table_privilege(caller, 'rea.instances', 'SELECT')
        or pg_catalog.pg_has_role(caller, pg_catalog.to_regrole(pg_catalog.quote_ident(fired_by::text)), 'USAGE')
$may_see$;
comment on function rea.may_see(oid, name) is
    'Whether a role may see what another one fired: viewers see all, the others what they or a role they belong to '
    'fired; for the reading functions only';
