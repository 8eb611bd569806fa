-- The latest tries of a job that did not end in success; needs dure_attempt_job.
select job, fence, attempt, worker, started_at, ended_at, event, error
from dure_attempt where job = :id
order by fence desc, ended_at desc limit :most
