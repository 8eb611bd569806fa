-- Adds lanes in the order given (sorted, so that two nodes cannot wait for each other);
-- those that another node adds at this moment are not answered.
insert into dure_lane (name)
select n.name from unnest(cast(:names as text[])) with ordinality as n (name, place)
order by n.place
on conflict (name) do nothing
returning id, name
