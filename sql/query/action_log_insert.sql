-- Writes a row per attempt.
-- $1 rows, $2 now
insert into rea.work_action_log (
    instance_id, log_id, attempt_no, cost_ms, start_time, end_time, create_time, next_retry_time, action_name, status,
    request_summary, response_summary, error_code, error_msg, calls, log)
select a.instance_id, a.log_id, a.attempt_no, a.cost_ms, a.start_time, a.end_time, $2, a.next_retry_time,
       a.action_name, a.status, a.request_summary, a.response_summary, a.error_code, a.error_msg,
       a.calls::jsonb, a.log::jsonb
from unnest($1::rea.attempt[]) a
