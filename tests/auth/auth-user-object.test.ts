// The hot path removes the nulls of an account here, others have them removed in the database: both give the same text.
import t from 'tap'
import { userObject } from '../../server/services/auth/user-object.ts'
import { createMigratedDatabase } from '../support/database.ts'

const database = await createMigratedDatabase()
t.teardown(() => database.drop())

/** Text that looks like a member that is null, in each notation. */
const hostile = [
  ',"email":null',
  '{"a":1,"email":null}',
  String.raw`\",\"email\":null`,
  'x,',
  '","email":null,"',
  '\n,"a_b":null\t',
  '\\',
  '"',
  'é\u{1f600}',
]
const metadata = {
  nothing: null,
  nested: { email: null, list: [null, { phone: null }], 'key,': null, ',"email":null': null },
  texts: hostile,
  number: 1,
}

t.test('accounts with hostile texts and every kind of null', async (t) => {
  for (const [index, text] of hostile.entries()) {
    const id = `00000000-0000-4000-8000-${String(index).padStart(12, '0')}`
    const json = JSON.stringify({ ...metadata, [text]: null })
    await database.query(
      `insert into auth.users (id, email, role, email_change, phone_change, raw_user_meta_data, raw_app_meta_data, banned_until, created_at)
         values ($1, $2, $2, $2, nullif($3, ''), $4, $4, case when $5 then 'infinity'::timestamptz end, now())`,
      [id, text, index % 2 === 0 ? text : '', json, index % 3 === 0],
    )
    if (index % 2 === 0) {
      await database.query(
        `insert into auth.identities (id, provider_id, user_id, identity_data, provider, created_at)
           select gen_random_uuid(), $2 || n, $1, $3, $2, now() from generate_series(1, $4::integer) as n`,
        [id, text, json, index],
      )
      await database.query(
        `insert into auth.mfa_factors (id, user_id, factor_type, status, friendly_name, created_at, updated_at)
           values (gen_random_uuid(), $1, 'totp', 'verified', $2, now(), now())`,
        [id, text],
      )
    }
    const { rows } = await database.query(
      `select auth.user_record(users)::text as record, auth.user_object(users)::text as object
         from auth.users where id = $1`,
      [id],
    )
    const [row] = rows as Record<'record' | 'object', string>[]
    if (!row) throw new Error('no row')
    const written = userObject(row.record)
    t.equal(written, row.object, text)
    const all = JSON.parse(row.record) as Record<string, unknown>
    const shown = JSON.parse(written) as Record<string, unknown>
    t.strictSame(shown.user_metadata, JSON.parse(json), 'metadata')
    t.equal(shown.email, text)
    t.strictSame(
      Object.keys(shown),
      Object.keys(all).filter((name) => all[name] !== null),
    )
    const identities = all.identities as Record<string, unknown>[]
    t.strictSame(
      shown.identities,
      identities.map((identity) => Object.fromEntries(Object.entries(identity).filter(([, value]) => value !== null))),
    )
  }
})
