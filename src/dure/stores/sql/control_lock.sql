-- Holds off every other change that nodes must hear of, until the commit.
select version from dure_control for update
