-- Whether the job still stands under this state and fence.
select 1 from dure_live where id = ?1 and fence = ?2 and state = ?3
