-- A session's jobs that may be claimed, by stream; reads an index entry for each unfinished one.
select stream, count(*) as jobs from dure_live
where session = :session and state = 0 group by stream
