-- SQLite has no partitions: nothing to drop.
select :before as name where false
