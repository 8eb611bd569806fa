-- Locks disabled lanes whose time is over; they all have a version (dure_lane_version).
select * from dure_lane where version > 0 and disabled_until <= :now order by id for update
