-- Writes a message into the log that logical decoding reads, with the role's rights; it counts from the commit on.
-- $1 prefix, $2 envelope
select pg_catalog.pg_logical_emit_message(true, $1, $2)
