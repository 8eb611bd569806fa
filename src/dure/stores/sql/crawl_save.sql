-- Saves one item; the same item of a session, saved again, is replaced.
insert into dure_item (session, spider, type, key, url, body, at)
values (:session, :spider, :type, :key, :url, :body, :at)
on conflict (session, type, key)
do update set url = excluded.url, body = excluded.body, at = excluded.at
