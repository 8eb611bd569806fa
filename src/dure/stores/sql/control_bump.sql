-- Tells all nodes that lanes, pauses, limits, settings or schedules changed. It locks the one
-- row until the commit, so versions commit in order; take every other lock before it.
update dure_control set version = version + 1 returning version
