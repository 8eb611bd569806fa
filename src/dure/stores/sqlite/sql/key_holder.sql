-- Which job holds this unique key.
select job from dure_key where key = ?1
