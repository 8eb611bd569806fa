-- The id at which the last walk over finished jobs stopped; by the primary key.
select value from dure_cell where space = 'upkeep' and name = 'prune'
