// Statements of passkeys: each calls one function of `000025_passkeys.sql`.
import { JsonStatement } from '../../../postgres/json-statement.ts'

const read = (text: string): JsonStatement => new JsonStatement(text, { access: 'read', hasNoEffect: true })
const write = (text: string): JsonStatement => new JsonStatement(text, { access: 'write' })

/** Durations are in seconds. */
export const passkeyStatements = {
  beginRegistration: write(
    `select auth.begin_passkey_registration($1::uuid, $2::uuid, $3::text, $4::float8 * interval '1 second', $5::integer)`,
  ),
  beginSignIn: write(
    `select auth.add_passkey_challenge(null, 'authentication', $1::text, $2::float8 * interval '1 second')`,
  ),
  takeRegistration: write('select auth.take_passkey_registration($1::uuid, $2::uuid, $3::uuid)'),
  add: write('select auth.add_passkey($1::uuid, $2::uuid, $3::jsonb, $4::integer, $5::text)'),
  find: write('select auth.find_passkey($1::uuid, $2::bytea)'),
  startSession: write('select auth.start_passkey_session($1::bytea, $2::bigint, $3::boolean, $4::text, $5::text)'),
  list: read('select auth.passkey_objects($1::uuid)'),
  rename: write('select auth.rename_passkey($1::uuid, $2::uuid, $3::text, $4::text)'),
  remove: write('select auth.remove_passkey($1::uuid, $2::uuid, $3::uuid, $4::text)'),
  adminList: read('select auth.admin_list_passkeys($1::uuid)'),
  adminDelete: write('select auth.admin_delete_passkey($1::uuid, $2::uuid, $3::text, $4::text)'),
} as const
