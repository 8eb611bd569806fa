-- Inserts one job that runs at once and carries nothing but a body.
insert into dure_live (id, stream, pos, enqueued_at, state, ready, body)
values (?1, ?2, ?1, ?3, 0, 1, ?4)
