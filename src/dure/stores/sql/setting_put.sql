-- Stores a setting.
insert into dure_setting (key, value, by, at) values (:key, :value, :by, :at)
on conflict (key) do update set value = excluded.value, by = excluded.by, at = excluded.at
