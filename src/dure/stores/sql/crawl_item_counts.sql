-- How many items of each type a session has saved.
select type, count(*) as items from dure_item where session = :session group by type order by type
