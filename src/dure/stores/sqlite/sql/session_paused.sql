-- Whether jobs of this session are held back.
select 1 from dure_pause where scope = 'session' and name = ?1
