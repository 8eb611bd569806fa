-- A lane, by its primary key.
select id, name, version, weight, max_running, limits, failures, failures_max, disabled_at,
  disabled_until, last_served_at
from dure_lane where id = :id
