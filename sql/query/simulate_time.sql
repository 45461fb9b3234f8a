-- A time as PostgreSQL reads it, and as documents show it; raises when the text is none.
-- $1 the text
select $1::text::timestamptz, pg_catalog.to_jsonb($1::text::timestamptz)::text
