-- Whether what a change asks for holds already: an earlier try was applied, its answer lost.
select 1 from dure_history where id = ?1 and fence = ?2 and state = ?3
union all
select 1 from dure_live
where id = ?1 and fence = ?2 and state = ?3 and attempt = ?4 and due is ?5 and reason is ?6
