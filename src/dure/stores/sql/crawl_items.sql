-- A page of a session's items in the order they were first saved, by the primary key.
select id, type, key, url, body, at from dure_item
where session = :session and (:type = '' or type = :type) and id > :after
order by id limit :most
