-- Takes a unique key that is free or whose period is over.
insert into dure_key (key, job, until) values (?1, ?2, ?3)
on conflict (key) do update set job = excluded.job, until = excluded.until
where dure_key.until <= ?4
