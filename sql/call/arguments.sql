-- The arguments of a call, each under its number; COLUMNS is put in with quoted names and types.
from pg_catalog.jsonb_to_record($1) as a (COLUMNS)
