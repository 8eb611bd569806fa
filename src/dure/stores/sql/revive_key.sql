-- Takes a unique key again, unless another job holds it; a period that still runs is kept.
insert into dure_key as k (key, job, until) values (:key, :job, null)
on conflict (key) do update
set job = excluded.job, until = case when k.job = excluded.job then k.until end
where k.job = excluded.job or k.until <= :now
returning job
