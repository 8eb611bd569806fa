-- Which jobs hold these unique keys.
select key, job from dure_key where key = any ($1::text[])
