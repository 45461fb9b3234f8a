-- Calls a function that a definition names, as the role that runs. CALL and ARGUMENTS are put in with quoted names.
-- $1 the arguments, one jsonb object; each becomes its parameter's type as in jsonb_populate_record
-- Returns its result as jsonb; null for SQL null.
select pg_catalog.to_jsonb(CALL) ARGUMENTS
