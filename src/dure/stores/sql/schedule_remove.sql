-- Forgets a schedule, by primary key.
delete from dure_schedule where name = :name
