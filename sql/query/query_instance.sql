-- What the events of a business key started, oldest first: a row per instance, and one for each event without any.
-- Branches and child workflows are told of in the row of the instance that waits for them; an event that was awaited, or
-- belongs to such a child, has no row.
-- $1 biz_key, $2 oid of the caller
-- Returns the columns of rea.query_instance. An event without instance that is not known as unrouted still lies in the
-- inbox, or among the delayed ones until its time: routing takes it from there and creates what it starts in one
-- transaction.
select e.biz_key, e.event_id, e.event_type, e.source, i.instance_id, i.workflow_name, i.workflow_version,
       case when i.instance_id is not null then i.status
            when u.reason = 'cancelled' then 'CANCELLED'
            when u.event_uid is not null then 'UNROUTED'
            else 'ACCEPTED' end as status,
       case when i.instance_id is not null then i.phase
            when u.reason = 'cancelled' then 'DONE'
            when u.event_uid is not null then 'MANUAL_REVIEW'
            when d.event_uid is not null then 'SUSPENDED'
            else 'READY' end as phase,
       i.current_action, i.current_action_index as action_index, i.retry_count, i.next_retry_time,
       case when i.instance_id is not null then i.waiting_for
            when u.reason = 'cancelled' then null
            when u.reason = 'match_error' then 'a route could not be evaluated for this event'
            when u.event_uid is not null then 'no route matched: match_event says why'
            when d.fire_at > pg_catalog.clock_timestamp() then
                'fires at ' || pg_catalog.to_char(d.fire_at, 'YYYY-MM-DD HH24:MI:SSOF')
            when pg_catalog.current_setting('rea.enabled', true) = 'off' then 'rea.enabled is off'
            when not exists (select from rea.live_worker w where w.kind = 'main') then 'waiting for a worker: none is running'
            else 'waiting to be routed' end as waiting_for,
       i.error_code, i.error, coalesce(i.steps, '{}') as steps,
       coalesce(i.create_time, e.create_time) as create_time,
       coalesce(i.update_time, u.create_time, e.create_time) as update_time,
       coalesce(i.end_time, case when u.reason = 'cancelled' then u.create_time end) as end_time
from rea.work_event e
left join rea.instances i on i.event_uid = e.event_uid and (i.parent_instance_id is null or i.detached)
left join rea.work_unrouted u on u.event_uid = e.event_uid
left join rea.work_delayed d on d.event_uid = e.event_uid
where e.biz_key = $1 and rea.may_see($2, e.fired_by) and u.reason is distinct from 'awaited'
  and (i.instance_id is not null or not exists (select from rea.work_instance c where c.event_uid = e.event_uid))
order by coalesce(i.create_time, e.create_time), e.event_uid, i.instance_id
