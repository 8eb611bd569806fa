-- Opens a batch; the caller holds the lock of its name.
insert into dure_batch (name, state, opened_at, lease_until, orphans, note)
values (:name, 'open', :now, cast(:lease_until as double precision), :orphans, :note)
returning id
