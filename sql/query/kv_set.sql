-- Sets values of the key-value store; of several for one key the last counts. A removed key becomes one that has expired:
-- so all rows are locked by one statement, in the order of their keys.
-- $1 workflow names, $2 keys, $3 values as JSON text (null: removed), $4 seconds to live (null: for ever), $5 now
insert into rea.work_kv (workflow_name, key, value, expire_time, update_time)
select distinct on (q.workflow_name, q.key) q.workflow_name, q.key, coalesce(q.value, 'null')::jsonb,
       case when q.value is null then '-infinity'::timestamptz
            else $5::timestamptz + q.seconds * interval '1 second' end, $5::timestamptz
from unnest($1::text[], $2::text[], $3::text[], $4::float8[]) with ordinality q (workflow_name, key, value, seconds, place)
order by q.workflow_name, q.key, q.place desc
on conflict (workflow_name, key) do update
set value = excluded.value, expire_time = excluded.expire_time, update_time = excluded.update_time
