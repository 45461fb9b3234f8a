-- Calls a function without result that a definition names, as the role that runs. CALL and ARGUMENTS are put in with
-- quoted names.
-- $1 the arguments, one jsonb object; each becomes its parameter's type as in jsonb_populate_record
select CALL ARGUMENTS
