-- Asks that an instance is cancelled or paused between two actions.
-- $1 instance id, $2 cancel or pause, $3 whether it undoes what it did, $4 cause, $5 oid of the caller, $6 now
insert into rea.work_request (instance_id, request, compensate, cause, requested_by, create_time)
values ($1, $2, $3, $4, pg_catalog.pg_get_userbyid($5), $6)
