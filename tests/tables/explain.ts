// Requests of users of the tenants (`tests/tenants`), with what their explanation says.
import type { ExplainMore } from '../support/explain.ts'
import { tenantOrganisations as organisations, tenantUsers as users } from '../support/tenants.ts'

export type ExplainedRequest = {
  readonly name: string
  readonly line: string
  /** A user of the tenants; otherwise a role. */
  readonly as: string
  readonly claims?: Readonly<Record<string, unknown>>
  readonly more?: ExplainMore
  readonly status: number
  /** Before and after the policies. */
  readonly rows: readonly [before: number | null, after: number | null]
  /** Statements that would give missing privileges. */
  readonly grants?: readonly string[]
  /** `new 1` or `existing {key}`, the policy, and its tests that are not true. */
  readonly denied?: readonly string[]
  /** Names of the policies that applied to the relation of the request; `!` stands before restrictive ones. */
  readonly policies?: readonly string[]
}

const { acme, birch, cedar } = organisations
const task = { project_id: 1, organisation_id: acme, title: 'A task' }

export const explainedRequests: readonly ExplainedRequest[] = [
  {
    name: 'rows of other tenants are hidden',
    line: 'GET /rest/v1/tasks?select=id&id=in.(1,6)',
    as: 'dora',
    status: 200,
    rows: [2, 1],
    denied: [
      `existing {"id":1} project_readers_read: organisation_id IN ('${birch}'); project_id IN ( SELECT projects.id FROM public.projects)`,
    ],
    policies: ['project_readers_read'],
  },
  {
    name: 'everything is visible',
    line: 'GET /rest/v1/tasks?select=id,project:projects(name)&status=eq.done',
    as: 'anna',
    status: 200,
    rows: [1, 1],
    policies: ['project_readers_read'],
  },
  {
    name: 'a restrictive policy hides a row that a permissive one allows',
    line: 'GET /rest/v1/settings?organisation_id=eq.' + acme,
    as: 'ben',
    status: 200,
    rows: [2, 1],
    denied: [
      `existing {"organisation_id":"${acme}","key":"payment_key"} secrets_are_for_owners: NOT is_secret; organisation_id IN (no rows)`,
    ],
    policies: ['members_read', '!secrets_are_for_owners'],
  },
  {
    name: 'a range does not hide rows',
    line: 'GET /rest/v1/labels?limit=1',
    as: 'anna',
    status: 200,
    rows: [2, 1],
    denied: [`existing {"id":2} members_read: organisation_id IN ('${acme}')`],
  },
  {
    name: 'the policies behind a view with security_invoker',
    line: 'GET /rest/v1/open_tasks?select=id',
    as: 'dora',
    status: 200,
    rows: [7, 2],
    policies: [],
  },
  {
    name: 'a role without privileges on some columns',
    line: 'GET /rest/v1/projects?select=id,team_id',
    as: 'anon',
    status: 401,
    rows: [5, null],
    grants: ['grant select (team_id) on public.projects to anon;'],
    policies: ['public_read'],
  },
  {
    name: 'a role without privileges on a table',
    line: 'GET /rest/v1/invoices',
    as: 'anon',
    status: 401,
    rows: [3, null],
    grants: ['grant select on public.invoices to anon;'],
    policies: [],
  },
  {
    name: 'a table that no policy applies to',
    line: 'POST /rest/v1/activity',
    as: 'anna',
    more: { data: { organisation_id: acme, action: 'a', subject: 'b' } },
    status: 403,
    rows: [1, null],
    grants: ['grant insert on public.activity to authenticated;'],
    policies: [],
  },
  {
    name: 'the author of a comment is another user',
    line: 'POST /rest/v1/comments',
    as: 'cleo',
    more: {
      data: [
        { task_id: 1, organisation_id: acme, body: 'a' },
        { task_id: 1, organisation_id: acme, body: 'b', author: users.anna },
      ].map((row) => ({ author: users.cleo, ...row })),
    },
    status: 403,
    rows: [2, null],
    denied: [`new 2 task_readers_insert: author = '${users.cleo}'`],
    policies: ['task_readers_insert', '!not_suspended_insert'],
  },
  {
    name: 'a viewer may not add tasks',
    line: 'POST /rest/v1/tasks',
    as: 'emil',
    more: { data: task },
    status: 403,
    rows: [1, null],
    denied: ['new 1 members_insert: organisation_id IN (no rows)'],
  },
  {
    name: 'a suspended organisation',
    line: 'POST /rest/v1/tasks',
    as: 'gina',
    more: { data: { ...task, project_id: 5, organisation_id: cedar } },
    status: 403,
    rows: [1, null],
    denied: [`new 1 not_suspended_insert: NOT (organisation_id IN ('${cedar}'))`],
  },
  {
    name: 'a task that may be added',
    line: 'POST /rest/v1/tasks?select=id',
    as: 'cleo',
    more: { data: task, headers: ['Prefer: return=representation'] },
    status: 201,
    rows: [1, 1],
    policies: ['members_insert', 'project_readers_read', '!not_suspended_insert'],
  },
  {
    name: 'a column that may not be written',
    line: 'PATCH /rest/v1/tasks?id=eq.1',
    as: 'anna',
    more: { data: { organisation_id: birch } },
    status: 403,
    rows: [1, null],
    grants: ['grant update (organisation_id) on public.tasks to authenticated;'],
  },
  {
    name: 'a row that a foreign key rejects as well',
    line: 'POST /rest/v1/tasks',
    as: 'emil',
    more: { data: { ...task, project_id: 4 } },
    status: 403,
    rows: [1, null],
    denied: [
      'new 1 members_insert: organisation_id IN (no rows); project_id IN ( SELECT projects.id FROM public.projects)',
    ],
  },
  {
    name: 'an update without the second factor',
    line: 'PATCH /rest/v1/invoices?id=eq.2',
    as: 'ben',
    more: { data: { status: 'sent' } },
    status: 204,
    rows: [1, 0],
    denied: [`existing {"id":2} second_factor_update: 'aal1' = 'aal2'`],
    policies: ['admins_read', 'admins_update', '!second_factor_update'],
  },
  {
    name: 'an update with the second factor',
    line: 'PATCH /rest/v1/invoices?id=eq.2',
    as: 'ben',
    claims: { aal: 'aal2' },
    more: { data: { status: 'sent' } },
    status: 204,
    rows: [1, 1],
  },
  {
    name: 'an administrator may not make an owner',
    line: `PATCH /rest/v1/memberships?user_id=eq.${users.cleo}&organisation_id=eq.${acme}`,
    as: 'ben',
    more: { data: { role: 'owner' } },
    status: 403,
    rows: [1, null],
    denied: [
      `new {"organisation_id":"${acme}","user_id":"${users.cleo}"} owners_are_set_by_owners_update: role <> 'owner'; organisation_id IN (no rows)`,
    ],
  },
  {
    name: 'a deletion that no policy allows',
    line: 'DELETE /rest/v1/tasks?id=eq.1',
    as: 'cleo',
    status: 204,
    rows: [1, 0],
    denied: ['existing {"id":1} admins_delete: organisation_id IN (no rows)'],
    policies: ['admins_delete', 'project_readers_read'],
  },
  {
    name: 'an expired invitation',
    line: 'POST /rest/v1/memberships',
    as: 'fred',
    more: { data: { organisation_id: birch, role: 'admin' } },
    status: 403,
    rows: [1, null],
    denied: [
      `new 1 admins_and_invited_insert: organisation_id IN (no rows); EXISTS ( SELECT FROM public.invitations WHERE ((invitations.organisation_id = memberships.organisation_id) AND (invitations.email = 'fred@example.org') AND (invitations.role = memberships.role) AND (invitations.expires_at > 'NOW')))`,
    ],
  },
  {
    name: 'a trigger that raises an error is no denial',
    line: 'PATCH /rest/v1/invoices?id=eq.1',
    as: 'anna',
    claims: { aal: 'aal2' },
    more: { data: { number: 'A-9' } },
    status: 400,
    rows: [1, null],
  },
  {
    name: 'a function call',
    line: 'POST /rest/v1/rpc/complete_task',
    as: 'cleo',
    more: { data: { id: 2 } },
    status: 200,
    rows: [null, 1],
  },
  {
    name: 'a function that the role may not execute',
    line: 'GET /rest/v1/rpc/task_counts?project=1',
    as: 'anon',
    status: 401,
    rows: [null, null],
  },
  {
    name: 'a role that bypasses the policies',
    line: 'GET /rest/v1/tasks?select=id',
    as: 'service_role',
    status: 200,
    rows: [8, 8],
    policies: [],
  },
  {
    name: 'an unknown table',
    line: 'GET /rest/v1/nothing',
    as: 'anna',
    status: 404,
    rows: [null, null],
  },
]
