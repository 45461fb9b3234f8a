-- Whether a document of event and payload is what a wait asks for; see rea.event_matches.
-- $1 the document, JSON text; $2 an object that the payload must contain, or $3 a path predicate
select case
    when $2::text is not null then ($1::text::jsonb -> 'payload') operator(pg_catalog.@>) $2::text::jsonb
    else coalesce(pg_catalog.jsonb_path_match_tz($1::text::jsonb, $3::text::jsonpath, '{}', true), false)
end
