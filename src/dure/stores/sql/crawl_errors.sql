-- Why a session's jobs fail, the most frequent first, of the latest thousand that carry an error.
select error, count(*) as jobs from (
  select error from dure_live where session = :session and error is not null
  union all
  select error from dure_history where session = :session and error is not null
  limit 1000
) errors group by error order by jobs desc, error limit :most
