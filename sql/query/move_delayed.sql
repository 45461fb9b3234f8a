-- Moves the events whose time has come to the inbox, in the order of their times. Rows processed: how many.
-- $1 now, $2 how many
-- Lock: the delayed rows, skipping locked ones (cancel_event). The delete has the transaction's xid assigned before an
-- inbox id is drawn: the worker's mark (inbox_horizon.sql) relies on it.
with due as (
    delete from rea.work_delayed
    where ctid = any (array(
        select d.ctid from rea.work_delayed d where d.fire_at <= $1
        order by d.fire_at, d.event_uid limit $2 for update skip locked))
    returning event_uid, fire_at
)
insert into rea.work_inbox (event_uid) select d.event_uid from due d order by d.fire_at, d.event_uid
