-- SQLite has no partitions: nothing to create.
select :now as moment, :days as days where false
