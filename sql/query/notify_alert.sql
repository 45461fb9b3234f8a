-- Sends an alert to those who listen on the channel rea_alert.
-- $1 JSON text, shorter than 8,000 bytes
select pg_catalog.pg_notify('rea_alert', $1)
