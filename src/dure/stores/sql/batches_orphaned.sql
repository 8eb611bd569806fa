-- Open batches without a living opener, through dure_batch_unfinished; sealing ends the lease.
select * from dure_batch
where state in ('open', 'sealed') and lease_until <= :now
  and (cast(:name as text) is null or name = cast(:name as text))
order by id
