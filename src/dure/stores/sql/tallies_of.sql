-- What the tallies that are not folded yet add to these batches; reads the small table of tallies.
select batch, cast(sum(added) as bigint) as added, cast(sum(success) as bigint) as success,
  cast(sum(failed) as bigint) as failed, cast(sum(skipped) as bigint) as skipped,
  cast(sum(stale) as bigint) as stale, cast(sum(cancelled) as bigint) as cancelled
from dure_tally where batch = any (:batches) group by batch
