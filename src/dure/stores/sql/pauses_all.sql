-- Every pause: as many rows as people made.
select * from dure_pause order by scope, name
