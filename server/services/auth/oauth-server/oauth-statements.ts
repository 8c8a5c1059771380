// Statements of the OAuth server: each calls one function of `000026_oauth_server.sql`.
import { JsonStatement } from '../../../postgres/json-statement.ts'

const read = (text: string): JsonStatement => new JsonStatement(text, { access: 'read', hasNoEffect: true })
const write = (text: string): JsonStatement => new JsonStatement(text, { access: 'write' })

/** Durations are in seconds. */
export const oauthStatements = {
  addClient: write('select auth.add_oauth_client($1::jsonb, $2::text, $3::text)'),
  findClient: read('select auth.find_oauth_client($1::uuid)'),
  listClients: read('select clients, total from auth.list_oauth_clients($1::bigint, $2::bigint)'),
  updateClient: write('select auth.update_oauth_client($1::uuid, $2::jsonb, $3::text, $4::text)'),
  changeSecret: write('select auth.change_oauth_secret($1::uuid, $2::text, $3::text, $4::text)'),
  deleteClient: write('select auth.delete_oauth_client($1::uuid, $2::text, $3::text)'),
  beginAuthorization: write(`select auth.begin_oauth_authorization($1::jsonb, $2::float8 * interval '1 second')`),
  openAuthorization: write('select auth.open_oauth_authorization($1::text, $2::uuid, $3::uuid, $4::text)'),
  answerAuthorization: write(
    'select auth.answer_oauth_authorization($1::text, $2::uuid, $3::uuid, $4::boolean, $5::text, $6::text)',
  ),
  redeemCode: write(
    'select auth.redeem_oauth_code($1::uuid, $2::text, $3::text, $4::text, $5::text, $6::text, $7::text)',
  ),
  listGrants: read('select auth.list_oauth_grants($1::uuid)'),
  revokeGrant: write('select auth.revoke_oauth_grant($1::uuid, $2::uuid, $3::uuid, $4::text)'),
} as const
