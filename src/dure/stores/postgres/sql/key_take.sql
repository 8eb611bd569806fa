-- Hands out ids in array order, and for them takes the unique keys that are free or whose period
-- is over. Keys are taken in their own order, so that two groups cannot lock each other out.
with fresh as materialized (
  select nextval('dure_seq') as id, a.key, a.until
  from unnest($1::text[], $2::double precision[]) as a (key, until)
), taken as (
  insert into dure_key as k (key, job, until)
  select key, id, until from fresh where key is not null order by key
  on conflict (key) do update set job = excluded.job, until = excluded.until
  where k.until <= coalesce($3::double precision, extract(epoch from clock_timestamp()))
  returning job
)
select (select array_agg(id order by id) from fresh) as ids,
       (select array_agg(job) from taken) as winners
