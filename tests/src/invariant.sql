-- What must hold of the tables once nothing moves any more: one query per rule, each returns what breaks it.
-- A line "-- rule: …" opens a query and names the rule. PAUSED instances and open waits may be left.

-- rule: an event has instances or ends a wait, or is unrouted, or waits in the inbox or for its time
select e.event_type, e.biz_key
from rea.work_event e
where not exists (select from rea.work_instance i where i.event_uid = e.event_uid)
  and not exists (select from rea.work_wait_event w where w.event_uid = e.event_uid)
  and not exists (select from rea.work_unrouted u where u.event_uid = e.event_uid)
  and not exists (select from rea.work_inbox n where n.event_uid = e.event_uid)
  and not exists (select from rea.work_delayed d where d.event_uid = e.event_uid)

-- rule: an event is not both routed and unrouted
select e.event_type, e.biz_key
from rea.work_event e
join rea.work_unrouted u on u.event_uid = e.event_uid
where exists (select from rea.work_instance i where i.event_uid = e.event_uid)

-- rule: an instance has a queue row as long as it lives, and an end time from then on
select i.instance_id, i.status, i.end_time, q.lane
from rea.work_instance i
full join rea.work_queue q on q.instance_id = i.instance_id
where i.instance_id is null
   or (q.instance_id is null) <> (i.status in ('SUCCESS', 'FAILED', 'DEAD', 'CANCELLED'))
   or (i.end_time is null) <> (q.instance_id is not null)

-- rule: nobody has an instance in hand
select q.instance_id, q.owner_generation, q.lane from rea.work_queue q where q.owner_generation is not null

-- rule: only what waits for an event or a person is left
select i.instance_id, i.status, i.workflow_name, i.branch, q.lane, q.due_time
from rea.work_instance i
join rea.work_queue q on q.instance_id = i.instance_id
where i.status <> 'PAUSED'
  and not (i.status = 'WAITING' and q.lane = '~wait' and (
      q.due_time < 'infinity' and q.due_time > now() - interval '5 s'
      or i.end_status is null and exists (
          select from rea.work_wait w where w.instance_id = i.instance_id and w.action_name <> '')
      or exists (select from rea.work_instance c
                 where c.parent_instance_id = i.instance_id and c.end_time is null and not c.detached)
      or exists (select from rea.work_place p
                 join rea.work_place t on t.workflow_name = p.workflow_name and t.place_key = p.place_key
                      and (t.taken or t.turn < p.turn)
                 where p.instance_id = i.instance_id and not p.taken)))

-- rule: the children of an instance that has ended have ended too, unless nobody waits for them
select c.instance_id, c.status, c.branch, p.status as parent_status
from rea.work_instance c
join rea.work_instance p on p.instance_id = c.parent_instance_id
where p.end_time is not null and c.end_time is null and not c.detached

-- rule: nothing is left to signal, to ask for or to route
select 'signal' as kind, s.instance_id::text as id from rea.work_signal s
union all
select 'request', r.instance_id::text || ' ' || r.request from rea.work_request r
union all
select 'inbox', n.event_uid::text from rea.work_inbox n

-- rule: the rows of both logs have one order, no later than the version
with rows as (
    select a.instance_id, a.log_id from rea.work_action_log a
    union all
    select l.instance_id, l.log_id from rea.work_instance_log l
)
select r.instance_id, r.log_id, count(*), min(i.version) as version
from rows r
join rea.work_instance i on i.instance_id = r.instance_id
group by r.instance_id, r.log_id
having count(*) > 1 or r.log_id > min(i.version) or r.log_id < 1

-- rule: an attempt has a number of its own
select a.instance_id, a.action_name, a.attempt_no, count(*)
from rea.work_action_log a
where a.status <> 'SKIPPED' and a.action_name not like '%~undo'
group by a.instance_id, a.action_name, a.attempt_no
having count(*) > 1 or a.attempt_no < 1

-- rule: an action is done once in an instance, however often it is tried
select a.instance_id, a.action_name, count(*)
from rea.work_action_log a
where a.status = 'SUCCESS' and a.action_name not like '%~undo'
group by a.instance_id, a.action_name
having count(*) > 1

-- rule: actions of an instance are done one after the other, in the order of the definition
select a.instance_id, a.action_name, a.log_id, b.action_name as later, b.log_id as later_id
from rea.work_action_log a
join rea.work_action_log b on b.instance_id = a.instance_id and b.log_id > a.log_id and b.action_name <> a.action_name
where a.status in ('SUCCESS', 'SKIPPED') and a.action_name not like '%~undo'
  and exists (select from rea.work_action_log c
              where c.instance_id = a.instance_id and c.action_name = a.action_name and c.log_id > b.log_id)

-- rule: each change of status begins where the one before ended, and the last is the present status
with changes as (
    select l.instance_id, l.log_id, l.old_status, l.new_status, l.cause,
           lag(l.new_status) over w as before, lead(l.log_id) over w as next
    from rea.work_instance_log l
    window w as (partition by l.instance_id order by l.log_id)
)
select c.instance_id, c.log_id, c.before, c.old_status, c.new_status, c.cause, i.status
from changes c
join rea.work_instance i on i.instance_id = c.instance_id
where c.old_status <> coalesce(c.before, 'PENDING')
   or c.next is null and c.new_status <> i.status
   or c.old_status = c.new_status

-- rule: a status changes only as the diagram in flow/instance.rs has it
select l.instance_id, l.old_status, l.new_status, l.cause, count(*)
from rea.work_instance_log l
where (l.old_status, l.new_status) not in (
    ('PENDING', 'RUNNING'), ('PENDING', 'WAITING'), ('PENDING', 'PAUSED'), ('PENDING', 'COMPENSATING'),
    ('PENDING', 'FAILED'), ('PENDING', 'CANCELLED'),
    ('RUNNING', 'PENDING'), ('RUNNING', 'WAITING'), ('RUNNING', 'PAUSED'), ('RUNNING', 'COMPENSATING'),
    ('RUNNING', 'SUCCESS'), ('RUNNING', 'FAILED'), ('RUNNING', 'DEAD'), ('RUNNING', 'CANCELLED'),
    ('WAITING', 'RUNNING'), ('WAITING', 'PENDING'), ('WAITING', 'PAUSED'), ('WAITING', 'COMPENSATING'),
    ('WAITING', 'FAILED'), ('WAITING', 'DEAD'), ('WAITING', 'CANCELLED'),
    ('PAUSED', 'PENDING'), ('PAUSED', 'WAITING'), ('PAUSED', 'COMPENSATING'), ('PAUSED', 'CANCELLED'),
    ('PAUSED', 'FAILED'),
    ('COMPENSATING', 'FAILED'), ('COMPENSATING', 'DEAD'), ('COMPENSATING', 'CANCELLED'),
    ('FAILED', 'PENDING'), ('DEAD', 'PENDING'), ('CANCELLED', 'PENDING'))
   or l.old_status in ('SUCCESS', 'FAILED', 'DEAD', 'CANCELLED') and l.cause not in ('retry_instance', 'replay')
group by 1, 2, 3, 4

-- rule: FAILED and DEAD instances that nobody waits for are dead letters, and no others
select coalesce(i.instance_id, d.instance_id) as instance_id, i.status, d.status as letter
from (select * from rea.work_instance f where f.status in ('FAILED', 'DEAD') and (f.parent_instance_id is null or f.detached)) i
full join rea.work_dead_letter d on d.instance_id = i.instance_id
where i.instance_id is null or d.instance_id is null or i.status <> d.status

-- rule: what has ended waits for nothing and has no place
select i.instance_id, i.status, 'wait' as what
from rea.work_wait w
join rea.work_instance i on i.instance_id = w.instance_id
where i.end_time is not null
union all
select i.instance_id, i.status, 'place'
from rea.work_place p
join rea.work_instance i on i.instance_id = p.instance_id
where i.end_time is not null

-- rule: no key has more places than its workflow allows
select p.workflow_name, p.place_key, count(*)
from rea.work_place p
where p.taken
group by p.workflow_name, p.place_key
having count(*) > (
    select max((v.definition #>> '{concurrency,limit}')::integer)
    from rea.workflow_version v where v.workflow_name = p.workflow_name)

-- rule: a compensation that is done undid each action that was done, once, and none that was not
with recursive tree as (
    select i.instance_id as root, i.instance_id, i.workflow_name, i.workflow_version
    from rea.work_instance i where i.compensation = 'done'
    union all
    select t.root, c.instance_id, t.workflow_name, t.workflow_version
    from tree t
    join rea.work_instance c on c.parent_instance_id = t.instance_id and c.branch is not null
), undoable as (
    select distinct t.root, u ->> 'name' as action_name
    from tree t
    join rea.workflow_version v on v.workflow_name = t.workflow_name and v.version = t.workflow_version
    cross join lateral jsonb_path_query(v.definition, 'strict $.** ? (exists (@.compensate.type))') u
    where t.root = t.instance_id
), done as (
    select u.root, u.action_name,
           count(distinct t.instance_id) filter (where a.status = 'SUCCESS') as surely,
           count(distinct t.instance_id) filter (where a.status <> 'SKIPPED') as perhaps
    from undoable u
    join tree t on t.root = u.root
    left join rea.work_action_log a on a.instance_id = t.instance_id and a.action_name = u.action_name
    group by u.root, u.action_name
), undone as (
    select u.root, u.action_name, count(a.log_id) as times
    from undoable u
    left join rea.work_action_log a
        on a.instance_id = u.root and a.action_name = u.action_name || '~undo' and a.status = 'SUCCESS'
    group by u.root, u.action_name
)
select d.root, d.action_name, d.surely, d.perhaps, u.times
from done d
join undone u on u.root = d.root and u.action_name = d.action_name
where u.times not between d.surely and d.perhaps

-- rule: what was done last is undone first
with undo as (
    select a.instance_id as root, a.log_id, left(a.action_name, -5) as action_name, count(*) over (
               partition by a.instance_id, a.action_name) as times
    from rea.work_action_log a where a.action_name like '%~undo' and a.status = 'SUCCESS'
), tree as (
    with recursive t as (
        select distinct u.root, u.root as instance_id from undo u
        union all
        select t.root, c.instance_id
        from t join rea.work_instance c on c.parent_instance_id = t.instance_id and c.branch is not null
    )
    select * from t
), done as (
    select u.root, u.log_id, u.action_name, min(a.start_time) as begun, max(a.end_time) as over
    from undo u
    join tree t on t.root = u.root
    join rea.work_action_log a
        on a.instance_id = t.instance_id and a.action_name = u.action_name and a.status <> 'SKIPPED'
    where u.times = 1
    group by u.root, u.log_id, u.action_name
)
select * from (
    select d.root, d.action_name, d.begun, lag(d.over) over (partition by d.root order by d.log_id) as before
    from done d) ordered
where ordered.begun >= ordered.before

-- rule: an instance with an end to come or behind it has its reason
select i.instance_id, i.status, i.error_code, i.compensation
from rea.work_instance i
where i.status in ('FAILED', 'DEAD', 'CANCELLED') and (i.error_code is null
   or i.branch is null and (i.compensation is null or i.compensation = 'running'))
