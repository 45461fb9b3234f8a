-- The document of a single instance, shaped as in operation_of_event.sql.
-- $1 instance_id, $2 oid of the caller
-- Returns one jsonb; no row when the instance is unknown or not the caller's to see.
select pg_catalog.jsonb_build_object(
           'operationId', p.instance_id,
           'status', p.status,
           'steps', p.steps,
           'result', p.result,
           'error', p.error,
           'compensation', p.compensation,
           'retryAfterSeconds', case when p.status in ('RUNNING', 'PENDING') then
               least(greatest(pg_catalog.ceil(
                   extract(epoch from p.look_again) - extract(epoch from pg_catalog.clock_timestamp())), 1),
                   31536000)::integer end)
from rea.operation_part p
where p.instance_id = $1 and rea.may_see($2, p.fired_by)
