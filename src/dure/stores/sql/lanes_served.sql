-- Notes the turn of lanes that this transaction has locked; time never runs backwards.
update dure_lane set last_served_at = :now
where id = any (:ids) and (last_served_at is null or last_served_at < :now)
