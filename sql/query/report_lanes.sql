-- Writes how lanes fare.
-- $1 lanes, $2 in flight, $3 bounds, $4 successes, $5 failures, $6 95th percentiles in ms, $7 gone, $8 now
insert into rea.lane_stat as s (lane, in_flight, max_in_flight, success_count, failure_count, p95_ms, gone, update_time)
select l.lane, l.in_flight, l.max_in_flight, l.success_count, l.failure_count, l.p95_ms, l.gone, $8
from unnest($1::text[], $2::integer[], $3::integer[], $4::bigint[], $5::bigint[], $6::integer[], $7::boolean[])
    l (lane, in_flight, max_in_flight, success_count, failure_count, p95_ms, gone)
on conflict (lane) do update
set in_flight = excluded.in_flight, max_in_flight = excluded.max_in_flight, success_count = excluded.success_count,
    failure_count = excluded.failure_count, p95_ms = excluded.p95_ms, gone = excluded.gone,
    update_time = excluded.update_time
