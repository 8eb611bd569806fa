-- Takes all tallies of one batch; reads the small table of tallies.
delete from dure_tally where batch = :batch
returning batch, added, success, failed, skipped, stale, cancelled
