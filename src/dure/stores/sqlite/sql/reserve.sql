-- Reserves ?1 numbers for ids and positions; they are never handed out twice.
update dure_seq set value = value + ?1 returning value
