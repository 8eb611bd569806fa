-- Locks cells in the order every change locks them in.
select name from dure_cell where space = :space and name = any (:names) order by name for update
