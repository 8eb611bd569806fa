-- Deletes old attempts of days without a partition; scans them.
delete from dure_attempt_rest where ctid = any (array(
  select ctid from dure_attempt_rest where ended_at < :before limit :most))
returning job
