-- Marks a worker that takes no new jobs, by primary key.
update dure_worker set state = 'draining' where id = :id returning id
