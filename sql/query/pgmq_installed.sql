-- Whether the extension pgmq is there.
select true from pg_catalog.pg_extension e where e.extname = 'pgmq'
