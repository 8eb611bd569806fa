-- Pauses, or renews a pause for another reason.
insert into dure_pause (scope, name, reason, by, at, drain)
values (:scope, :name, :reason, :by, :at, :drain)
on conflict (scope, name) do update set reason = excluded.reason, by = excluded.by,
  at = excluded.at, drain = excluded.drain
returning *
