-- Frees the keys that these jobs held only while they were unfinished; one by one, by primary key.
delete from dure_key where ctid = any (array(
  select k.tid
  from unnest($1::text[], $2::bigint[]) as a (key, job)
  cross join lateral (
    select o.ctid as tid from dure_key o
    where o.key = a.key and o.job = a.job and o.until is null limit 1 for update) k))
