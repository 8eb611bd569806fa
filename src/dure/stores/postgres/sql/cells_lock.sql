-- Creates what is missing and locks all of it, in the order given (sorted, so that two
-- nodes cannot wait for each other). The update changes nothing; it is what locks a row.
-- The rows are let go without waiting for the disk: the store waits for it afterwards.
insert into dure_cell (space, name, value, at)
select cast(:space as text), n.name, '', cast(:now as double precision)
from unnest(cast(:names as text[])) with ordinality as n (name, place)
order by n.place
on conflict (space, name) do update set at = dure_cell.at
returning name, value, set_config('synchronous_commit', 'off', true)
