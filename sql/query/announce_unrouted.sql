-- Marks unrouted events as announced and tells what they are, grouped.
-- $1 now
-- Returns event type, how many, and one event id of each group.
with news as (
    update rea.work_unrouted u set announced_time = $1 where u.announced_time is null returning u.event_uid
)
select e.event_type, count(*), min(e.event_id)
from news n join rea.work_event e on e.event_uid = n.event_uid
group by e.event_type order by count(*) desc, e.event_type
