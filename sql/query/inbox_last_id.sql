-- The largest inbox id drawn so far; 0 when none was.
select case when s.is_called then s.last_value else 0 end from rea.work_inbox_inbox_id_seq s
