-- The newest position handed out.
select value as pos from dure_seq
