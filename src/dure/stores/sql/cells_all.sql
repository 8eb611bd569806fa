-- A whole space, through the primary key.
select name, value from dure_cell where space = :space and value <> '' order by name
