-- One schedule, locked, by primary key.
select * from dure_schedule where name = :name for update
