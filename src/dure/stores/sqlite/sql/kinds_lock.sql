-- A writer of SQLite is alone already; this only counts as the step the other store needs.
select 1 as locked
