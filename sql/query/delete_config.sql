-- Removes a value of the configuration.
-- $1 key
delete from rea.config c where c.key = $1
