// Statements of second factors: each calls one function of `000008_second_factors.sql` or `000025_passkeys.sql`.
import { JsonStatement } from '../../../postgres/json-statement.ts'

const write = (text: string): JsonStatement => new JsonStatement(text, { access: 'write' })

/** Durations are in seconds, lists of types in Postgres's notation: `{totp,phone}`. */
export const factorStatements = {
  enroll: write(
    `select auth.enroll_factor($1::uuid, $2::uuid, $3::auth.factor_type, $4::text, $5::text, $6::text, $7::integer,
      $8::integer, $9::float8 * interval '1 second', $10::text)`,
  ),
  challenge: write(
    `select auth.begin_factor_challenge($1::uuid, $2::uuid, $3::auth.factor_type[], $4::text, $5::text,
      $6::float8 * interval '1 second', $7::float8 * interval '1 second', $8::text)`,
  ),
  attempt: write(
    `select auth.attempt_factor_challenge($1::uuid, $2::uuid, $3::uuid, $4::auth.factor_type[],
      $5::float8 * interval '1 second', $6::integer, $7::integer, $8::text)`,
  ),
  verify: write(
    `select auth.verify_factor($1::uuid, $2::uuid, $3::uuid, $4::uuid, $5::bigint, $6::text, $7::text, $8::text)`,
  ),
  verifyWebAuthn: write(
    `select auth.verify_webauthn_factor($1::uuid, $2::uuid, $3::uuid, $4::uuid, $5::jsonb, $6::uuid, $7::bigint,
      $8::text)`,
  ),
  unenroll: write('select auth.unenroll_factor($1::uuid, $2::uuid, $3::uuid, $4::text)'),
  createRecoveryCodes: write('select auth.create_recovery_codes($1::uuid, $2::uuid, $3::text[], $4::text)'),
  countRecoveryCodes: new JsonStatement('select auth.count_recovery_codes($1::uuid)', {
    access: 'read',
    hasNoEffect: true,
  }),
} as const
