-- Values of the key-value store that have not expired.
-- $1 workflow names, $2 keys, pair by pair, $3 now
select k.workflow_name, k.key, k.value::text
from unnest($1::text[], $2::text[]) q (workflow_name, key)
join rea.work_kv k on k.workflow_name = q.workflow_name and k.key = q.key
where k.expire_time is null or k.expire_time > $3::timestamptz
