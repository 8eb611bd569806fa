-- Takes a replayed job back from the counts of its batch, as a negative delta.
insert into dure_tally (batch, at, added, success, failed, skipped, stale, cancelled)
values (:batch, :at, 0, 0, :failed, 0, :stale, :cancelled)
