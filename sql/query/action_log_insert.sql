-- Writes a row per attempt.
-- $1 instance ids, $2 log ids, $3 attempt numbers, $4 costs in ms, $5 start times, $6 end times, $7 next retry times,
-- $8 action names, $9 statuses, $10 request summaries, $11 response summaries, $12 error codes, $13 error messages, $14 now
insert into rea.work_action_log (
    instance_id, log_id, attempt_no, cost_ms, start_time, end_time, create_time, next_retry_time, action_name, status,
    request_summary, response_summary, error_code, error_msg)
select a.instance_id, a.log_id, a.attempt_no, a.cost_ms, a.start_time, a.end_time, $14, a.next_retry_time,
       a.action_name, a.status, a.request_summary, a.response_summary, a.error_code, a.error_msg
from unnest($1::uuid[], $2::integer[], $3::integer[], $4::integer[], $5::timestamptz[], $6::timestamptz[],
            $7::timestamptz[], $8::text[], $9::text[], $10::text[], $11::text[], $12::text[], $13::text[])
    a (instance_id, log_id, attempt_no, cost_ms, start_time, end_time, next_retry_time, action_name, status,
       request_summary, response_summary, error_code, error_msg)
