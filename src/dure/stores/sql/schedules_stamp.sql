-- Marks schedules that this transaction has locked as changed at this version.
update dure_schedule set version = :version where name = any (:names)
