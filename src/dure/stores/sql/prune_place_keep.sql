-- Keeps the id at which the walk over finished jobs stopped.
insert into dure_cell (space, name, value, at) values ('upkeep', 'prune', :value, :at)
on conflict (space, name) do update set value = excluded.value, at = excluded.at
