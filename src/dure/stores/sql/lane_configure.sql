-- Writes the settings of a lane that this transaction has locked.
update dure_lane set version = :version, weight = :weight,
  max_running = cast(:max_running as integer), limits = :limits, failures_max = :failures_max
where id = :id
