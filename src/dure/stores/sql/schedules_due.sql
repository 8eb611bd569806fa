-- Schedules to fire; the table has one row a schedule.
select * from dure_schedule where not paused and next_at <= :now order by next_at, name
