-- Fresh positions, one by one: other transactions take some in between.
select nextval('dure_seq') as start, 1 as number from generate_series(1, cast(:number as integer))
