-- Which of these jobs run under this worker; by the primary key.
select id, fence from dure_live where id = any (:ids) and state = 1 and worker = :worker
