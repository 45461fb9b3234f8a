-- Takes a source's event id; waits while another transaction holds it and takes over if that rolls back.
-- $1 source, $2 event_id, $3 event_uid, $4 now
-- One row processed: taken; none: the id is known. Runs with the caller's search_path: no operator, no function.
insert into rea.work_event_key (source, event_id, event_uid, create_time) values ($1, $2, $3, $4)
on conflict (source, event_id) do nothing
