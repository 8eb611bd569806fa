-- Enters a worker with its first lease.
insert into dure_worker
  (name, host, pid, version, kinds, slots, state, started_at, beat_at, lease_until)
values (:name, :host, :pid, :version, :kinds, :slots, 'running', :now, :now, :lease_until)
returning id
