-- How many unfinished jobs stand in each state; reads them all, as no index holds the state.
select state, count(*) as jobs from dure_live group by state
