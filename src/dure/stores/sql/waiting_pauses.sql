-- The pauses that hold one job back; by the primary key.
select scope, name, reason, by, at, drain from dure_pause
where scope = 'all' or (scope = 'kind' and name = :kind) or (scope = 'lane' and name = :lane)
  or (scope = 'session' and name = cast(:session as text))
order by scope
