-- Values of the configuration.
-- $1 keys
select c.key, c.value::text from rea.config c where c.key = any ($1)
