-- Creates instances; most are RUNNING at once.
-- $1 instance ids, $2 event uids, $3 workflow versions, $4 route versions, $5 workflow names, $6 route names,
-- $7 biz keys, $8 event ids, $9 sources, $10 fired_by, $11 deadline times, $12 statuses, $13 action indexes,
-- $14 versions, $15 first try times, $16 next retry times, $17 paused times, $18 end times, $19 contexts, $20 results,
-- $21 error codes, $22 errors, $23 now, $24 retry counts
insert into rea.work_instance (
    instance_id, event_uid, create_time, workflow_version, route_version, workflow_name, route_name, biz_key, event_id,
    source, fired_by, deadline_time, status, current_action_index, retry_count, version, update_time, first_try_time,
    next_retry_time, paused_time, end_time, context, result, error_code, error)
select n.instance_id, n.event_uid, $23, n.workflow_version, n.route_version, n.workflow_name, n.route_name, n.biz_key,
       n.event_id, n.source, n.fired_by, n.deadline_time, n.status, n.current_action_index, n.retry_count, n.version, $23,
       n.first_try_time, n.next_retry_time, n.paused_time, n.end_time, n.context::jsonb, n.result::jsonb,
       n.error_code, n.error
from unnest($1::uuid[], $2::uuid[], $3::integer[], $4::integer[], $5::text[], $6::text[], $7::text[], $8::text[],
            $9::text[], $10::text[], $11::timestamptz[], $12::text[], $13::integer[], $24::integer[], $14::integer[],
            $15::timestamptz[], $16::timestamptz[], $17::timestamptz[], $18::timestamptz[], $19::text[], $20::text[],
            $21::text[], $22::text[])
    n (instance_id, event_uid, workflow_version, route_version, workflow_name, route_name, biz_key, event_id, source,
       fired_by, deadline_time, status, current_action_index, retry_count, version, first_try_time, next_retry_time,
       paused_time, end_time, context, result, error_code, error)
