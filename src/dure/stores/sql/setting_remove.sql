-- Brings a setting back to its default.
delete from dure_setting where key = :key
