-- A kept body.
select url, status, content_type, body from dure_body where key = :key
