-- The next finished jobs by id, old or not; by the primary key.
select id, enqueued_at, finished_at from dure_history
where id > :after order by id limit :most
