-- Takes tallies, oldest first.
delete from dure_tally where rowid in (select rowid from dure_tally order by rowid limit :limit)
returning batch, added, success, failed, skipped, stale, cancelled
