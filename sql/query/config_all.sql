-- The configuration.
select c.key, c.value::text from rea.config c
