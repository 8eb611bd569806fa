-- Which of these unique keys are taken, by the primary key.
select key from dure_key where key = any (:keys)
