-- Marks the jobs of ?1, a JSON list of ids, as running under new fences.
update dure_live set state = 1, fence = fence + 1, attempt = attempt + 1, worker = ?2,
  claimed_at = ?3
where id in (select value from json_each(?1)) and state = 0
