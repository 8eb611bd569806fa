-- Claims waiting jobs under new fences; walks dure_live_ready and touches no indexed column (HOT).
update dure_live set state = 1, fence = fence + 1, attempt = attempt + 1, worker = $4,
  claimed_at = coalesce($5::double precision, extract(epoch from clock_timestamp()))
where ctid = any (array(
  select w.tid
  from unnest($1::bigint[], $2::integer[], $3::bigint[]) as a (stream, quota, mark)
  cross join lateral (
    select l.ctid as tid from dure_live l
    where l.stream = a.stream and l.ready and l.pos >= a.mark and l.state = 0
    order by l.pos limit a.quota for update skip locked) w))
returning id, fence, stream, pos, attempt, body, enqueued_at, batch, parent, session, subject,
  epoch, tokens, key
