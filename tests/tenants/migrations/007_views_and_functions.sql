create view public.open_tasks with (security_invoker = true) as
select tasks.id, tasks.title, tasks.due_on, tasks.assignee, tasks.organisation_id, projects.name as project
from public.tasks join public.projects on projects.id = tasks.project_id
where tasks.status <> 'done';
comment on view public.open_tasks is 'Tasks that are not done, with the name of their project.';

create view public.unpaid_invoices with (security_invoker = true) as
select invoices.id, invoices.organisation_id, invoices.number, invoices.total_cents,
  invoices.total_cents - coalesce(sum(payments.amount_cents), 0) as open_cents
from public.invoices left join public.payments on payments.invoice_id = invoices.id
where invoices.status = 'sent'
group by invoices.id;
comment on view public.unpaid_invoices is 'Invoices that were sent, and what remains to be paid.';

revoke all on public.open_tasks, public.unpaid_invoices from anon, authenticated;
grant select on public.open_tasks, public.unpaid_invoices to authenticated, service_role;

create function public.task_counts(project bigint) returns table (status text, tasks bigint)
language sql stable set search_path = ''
as $$
  select tasks.status, count(*) from public.tasks where tasks.project_id = $1 group by tasks.status order by tasks.status
$$;
comment on function public.task_counts(bigint) is 'Number of tasks of a project by their status.';

create function public.complete_task(id bigint) returns setof public.tasks
language sql volatile set search_path = ''
as $$
  update public.tasks set status = 'done' where tasks.id = $1 returning tasks.*
$$;
comment on function public.complete_task(bigint) is 'Marks a task as done, with the rights of the caller.';

create function public.leave_organisation(organisation uuid) returns void
language sql volatile set search_path = ''
as $$
  delete from public.memberships where memberships.organisation_id = $1 and memberships.user_id = (select auth.uid())
$$;
comment on function public.leave_organisation(uuid) is 'Ends the membership of the caller.';

revoke execute on function public.task_counts(bigint), public.complete_task(bigint), public.leave_organisation(uuid) from public, anon;
grant execute on function public.task_counts(bigint), public.complete_task(bigint), public.leave_organisation(uuid)
to authenticated, service_role;
