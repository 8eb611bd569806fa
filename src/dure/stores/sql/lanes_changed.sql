-- Lanes that are not at their defaults, through dure_lane_version.
select * from dure_lane where version > 0 and version > :version order by id
