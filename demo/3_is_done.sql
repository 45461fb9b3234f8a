-- True when both orders have been followed up to the end.
select count(*) = 2 and bool_and(status = 'SUCCESS') from rea.instances;
