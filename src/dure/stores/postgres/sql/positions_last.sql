-- The newest position handed out.
select case when is_called then last_value else 0 end as pos from dure_seq
