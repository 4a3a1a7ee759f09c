-- A number that another change takes; this file gives way to it.
select 1;
