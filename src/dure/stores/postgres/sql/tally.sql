-- One delta row per batch and group; the leader folds them into dure_batch.
insert into dure_tally (batch, at, added, success, failed, skipped, stale, cancelled)
select a.batch, coalesce($8::double precision, extract(epoch from clock_timestamp())),
       a.added, a.success, a.failed, a.skipped, a.stale, a.cancelled
from unnest($1::bigint[], $2::integer[], $3::integer[], $4::integer[], $5::integer[],
            $6::integer[], $7::integer[])
     as a (batch, added, success, failed, skipped, stale, cancelled)
