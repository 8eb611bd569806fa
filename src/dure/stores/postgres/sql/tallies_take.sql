-- Takes tallies, summed by batch; those another node is taking are left to it.
with taken as (
  delete from dure_tally where ctid = any (array(
    select ctid from dure_tally limit cast(:limit as bigint) for update skip locked))
  returning batch, added, success, failed, skipped, stale, cancelled
)
select batch, cast(sum(added) as bigint) as added, cast(sum(success) as bigint) as success,
  cast(sum(failed) as bigint) as failed, cast(sum(skipped) as bigint) as skipped,
  cast(sum(stale) as bigint) as stale, cast(sum(cancelled) as bigint) as cancelled
from taken group by batch
