-- When the clock fires next: an event that was to fire later, or a schedule's tick; null when nothing waits for it.
select least((select d.fire_at from rea.work_delayed d order by d.fire_at limit 1),
             (select s.next_time from rea.schedule s where s.next_time is not null order by s.next_time limit 1))
