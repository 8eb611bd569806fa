-- Every kind: at most 16383 rows.
select id, name from dure_kind order by id
