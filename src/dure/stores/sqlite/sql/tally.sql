-- One delta row per batch and group; the leader folds them into dure_batch.
insert into dure_tally (batch, at, added, success, failed, skipped, stale, cancelled)
values (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)
