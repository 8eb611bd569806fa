-- What nodes watch: one row.
select version from dure_control
