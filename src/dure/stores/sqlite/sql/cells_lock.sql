-- Creates what is missing and reads all of it; the one writer is the lock.
insert into dure_cell (space, name, value, at)
select :space, n.value, '', :now from json_each(:names) n where true
on conflict (space, name) do update set at = dure_cell.at
returning name, value
