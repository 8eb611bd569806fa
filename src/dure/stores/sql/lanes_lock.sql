-- Locks lanes in the order of their ids, so that two nodes cannot wait for each other.
select * from dure_lane where id = any (:ids) order by id for update
