-- Closes sealed batches (dure_batch_unfinished) that are complete and have no tally left.
update dure_batch set state = 'done', ended_at = :now
where state = 'sealed' and added = success + failed + skipped + stale + cancelled
  and id not in (select t.batch from dure_tally t)
returning *
