-- Forgets these unique keys, one by one by the primary key, unless an unfinished job holds them.
delete from dure_key
where key = any (:keys) and until is not null
  and not exists (select 1 from dure_live j where j.id = dure_key.job)
returning key
