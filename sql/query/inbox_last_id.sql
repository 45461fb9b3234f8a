-- The largest inbox id drawn so far.
select s.last_value from rea.work_inbox_inbox_id_seq s
