-- Every stored setting: a few rows.
select * from dure_setting order by key
