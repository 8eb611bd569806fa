-- Cells by name, through the primary key.
select name, value from dure_cell
where space = :space and name = any (:names) and value <> ''
order by name
