// Statements of the administration. Most call one function of `000009_administration.sql`.
import { JsonStatement } from '../../../postgres/json-statement.ts'

const read = (text: string): JsonStatement => new JsonStatement(text, { access: 'read', hasNoEffect: true })
const write = (text: string): JsonStatement => new JsonStatement(text, { access: 'write' })

/** Durations are in seconds, lists in Postgres's notation. */
export const adminStatements = {
  listUsers: read('select users, total from auth.list_users($1::text, $2::text, $3::boolean, $4::bigint, $5::bigint)'),
  createUser: write(
    `select auth.admin_create_user($1::jsonb, $2::text, $3::float8 * interval '1 second', $4::text, $5::text)`,
  ),
  updateUser: write(
    `select auth.admin_update_user($1::uuid, $2::jsonb, $3::text, $4::float8 * interval '1 second', $5::text, $6::text)`,
  ),
  deleteUser: write('select auth.admin_delete_user($1::uuid, $2::boolean, $3::text, $4::text)'),
  findAppRoles: read(`
    select users.id, users.app_role from auth.users
    where users.app_role is not null
      and users.id in (select ids.id::uuid from pg_catalog.jsonb_array_elements_text($1::jsonb) as ids (id))`),
  // Its entry in the audit log is that of a change by the admin API.
  setAppRole: write(`
    with changed as (
      update auth.users set app_role = $2::text, updated_at = now() where users.id = $1::uuid returning *
    )
    select changed.id, auth.record_audit(
      auth.admin_account($3::text), 'user_modified', 'user',
      jsonb_build_object(
        'user_id', changed.id, 'user_email', changed.email, 'user_phone', changed.phone, 'app_role', changed.app_role
      ),
      $4::text
    )
    from changed`),
  listFactors: read('select auth.list_factors($1::uuid)'),
  updateFactor: write('select auth.admin_update_factor($1::uuid, $2::uuid, $3::text, $4::text, $5::text, $6::text)'),
  deleteFactor: write('select auth.admin_delete_factor($1::uuid, $2::uuid, $3::text, $4::text)'),
  listAuditEntries: read(
    'select entries, total from auth.list_audit_entries($1::text[], $2::text, $3::bigint, $4::bigint)',
  ),
} as const
