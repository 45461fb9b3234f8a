-- Notes events that instances wait for. One that is noted already stays as it is.
-- $1 rows, $2 now
insert into rea.work_wait (instance_id, action_name, wait_no, event_type, biz_key, correlation_id, match_contains,
                           match_path, since, create_time)
select n.instance_id, n.action_name, n.wait_no, n.event_type, n.biz_key, n.correlation_id, n.match_contains::jsonb,
       n.match_path::jsonpath, coalesce(e.fire_at, e.create_time) - n.lookback * interval '1 second', $2
from unnest($1::rea.new_wait[]) n
join rea.work_instance i on i.instance_id = n.instance_id
join rea.work_event e on e.event_uid = i.event_uid
on conflict (instance_id, action_name, wait_no) do nothing
