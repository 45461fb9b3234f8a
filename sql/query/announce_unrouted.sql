-- Marks unrouted events as announced and tells what they are, grouped.
-- $1 now
-- Returns event type, how many, and one event id of each group.
-- An event that an instance took for its wait while it was being routed turns out to be awaited.
with news as (
    update rea.work_unrouted u
    set announced_time = case when m.event_uid is null then $1::timestamptz end,
        reason = case when m.event_uid is null then u.reason else 'awaited' end
    from rea.work_unrouted o
    left join lateral (select w.event_uid from rea.work_wait_event w where w.event_uid = o.event_uid limit 1) m on true
    where u.event_uid = o.event_uid and o.announced_time is null and o.reason not in ('awaited', 'cancelled')
    returning u.event_uid, u.reason
)
select e.event_type, count(*), min(e.event_id)
from news n join rea.work_event e on e.event_uid = n.event_uid
where n.reason <> 'awaited'
group by e.event_type order by count(*) desc, e.event_type
