-- Takes one event from the inbox without matching it, for the event that no route could be evaluated for.
-- $1 reason, $2 the mark below which no row can appear, as route_events.sql was given it. Returns the number of events taken, 0 or 1, by rows processed.
with taken as (
    delete from rea.work_inbox
    where ctid = any (array(select i.ctid from rea.work_inbox i where i.inbox_id > $2 order by i.inbox_id limit 1 for update skip locked))
    returning event_uid
)
insert into rea.work_unrouted (event_uid, create_time, reason)
select t.event_uid, pg_catalog.now(), $1 from taken t
