-- Removes a dead worker that no job runs under; scans the ready jobs.
delete from dure_worker
where id = :worker and lease_until <= :now and not exists (
  select 1 from dure_live where ready and state = 1 and worker = :worker)
returning id
