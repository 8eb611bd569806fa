-- One schedule, by primary key.
select * from dure_schedule where name = :name
