-- The ids of kinds, through the unique index on name.
select id, name from dure_kind where name = any (:names)
