-- Which of these workers are registered, by primary key.
select id from dure_worker where id = any (:ids)
