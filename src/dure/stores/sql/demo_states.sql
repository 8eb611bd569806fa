-- All jobs by state; the demonstration is small and counts everything.
select state, count(*) as jobs from (
  select state from dure_live union all select state from dure_history) jobs
group by state order by state
