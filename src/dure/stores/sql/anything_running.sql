-- Whether any worker still runs a job: the first such row among the ready ones.
select id from dure_live where ready and state = 1 limit 1
