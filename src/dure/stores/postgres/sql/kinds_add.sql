-- Names kinds; the caller holds the table's lock and has looked for free ids.
insert into dure_kind (id, name)
select n.id, n.name from unnest(cast(:ids as integer[]), cast(:names as text[])) as n (id, name)
