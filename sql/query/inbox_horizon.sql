-- What the snapshot knows: every transaction below the first number has ended, none from the second on is visible; and
-- the smallest inbox id above a mark, locked rows included.
-- $1 mark
select pg_catalog.pg_snapshot_xmin(s.snapshot)::text::bigint, pg_catalog.pg_snapshot_xmax(s.snapshot)::text::bigint,
       (select i.inbox_id from rea.work_inbox i where i.inbox_id > $1 order by i.inbox_id limit 1)
from pg_catalog.pg_current_snapshot() s (snapshot)
