-- SQLite keeps no dead rows that a vacuum must wait for.
select null as seconds, null as pid, null as dead_rows where false
