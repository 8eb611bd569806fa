-- Keeps a body that could not be parsed, so that a replay does not fetch it again.
insert into dure_body (key, url, status, content_type, body, at)
values (:key, :url, :status, :content_type, :body, :at)
on conflict (key) do update set url = excluded.url, status = excluded.status,
  content_type = excluded.content_type, body = excluded.body, at = excluded.at
