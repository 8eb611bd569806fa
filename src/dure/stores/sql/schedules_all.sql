-- Every schedule.
select * from dure_schedule order by name
