-- How many unfinished jobs of each kind stand in each state; reads them all, as `live_counts` does.
select (stream >> 2) & 16383 as kind, state, count(*) as jobs
from dure_live group by (stream >> 2) & 16383, state
