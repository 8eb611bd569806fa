-- How many jobs wait in neighbouring streams, counted up to a bound; walks dure_live_ready.
select count(*) as jobs from (
  select 1 from dure_live
  where ready and stream between :first and :last and state = 0 limit :most) waiting
