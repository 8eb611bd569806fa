-- The ids of lanes, through the unique index on name.
select id, name from dure_lane where name = any (:names)
