-- Inserts jobs that run at once and carry nothing but a body: a JSON list ?3 of stream and body,
-- under ids from ?1 on. One statement for the group: starting one for each job costs twice as much.
insert into dure_live (id, stream, pos, enqueued_at, state, ready, body)
select ?1 + j.key, j.value ->> 0, ?1 + j.key, ?2, 0, 1, j.value ->> 1 from json_each(?3) j
