-- Adds lanes; those that exist are not answered.
insert into dure_lane (name)
select n.value from json_each(:names) n where true
on conflict (name) do nothing
returning id, name
