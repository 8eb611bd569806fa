-- A session's jobs by kind and state, unfinished and finished.
select stream, state, count(*) as jobs, sum(attempt) as attempts from dure_live
where session = :session group by stream, state
union all
select stream, state, count(*), sum(attempt) from dure_history
where session = :session group by stream, state
