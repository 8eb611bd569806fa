-- One lane, through the unique index on name.
select * from dure_lane where name = :name
