-- Puts a message into a queue of pgmq, with the role's rights. SCHEMA is put in with a quoted name.
-- $1 queue, $2 envelope
select SCHEMA.send($1, $2::pg_catalog.jsonb)
