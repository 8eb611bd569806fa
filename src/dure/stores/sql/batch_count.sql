-- Adds counts to a batch, by primary key.
update dure_batch set added = added + :added, success = success + :success,
  failed = failed + :failed, skipped = skipped + :skipped, stale = stale + :stale,
  cancelled = cancelled + :cancelled
where id = :id
