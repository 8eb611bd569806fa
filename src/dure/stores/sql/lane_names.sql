-- The names of lanes, by primary key.
select id, name from dure_lane where id = any (:ids)
