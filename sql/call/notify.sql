-- Sends a message as a notification, with the role's rights.
-- $1 channel, $2 envelope
select pg_catalog.pg_notify($1, $2)
