// Whose account a sign-in at a provider reaches: the functions of the database that decide it.
import type pg from 'pg'
import t, { type Test } from 'tap'
import { createMigratedDatabase, withClient } from '../support/database.ts'

const database = await createMigratedDatabase()
t.teardown(() => database.drop())

/** Runs a statement as the role of the service. */
const asService = <T>(text: string, values: readonly unknown[]): Promise<T> =>
  withClient(database.authenticatorUri, async (client) => {
    await client.query('begin')
    await client.query('set local role supabase_auth_admin')
    const { rows } = await client.query<Row<T>>(text, [...values])
    await client.query('commit')
    const [row] = rows
    if (!row) throw new Error('no row')
    return row.value
  })
type Row<T> = { readonly value: T } & pg.QueryResultRow

type User = {
  readonly id: string
  readonly email: string
  readonly email_confirmed_at?: string
  readonly is_anonymous: boolean
  readonly app_metadata: unknown
  readonly user_metadata: Readonly<Record<string, unknown>>
  readonly identities: readonly { readonly identity_id: string; readonly provider: string; readonly id: string }[]
}
type Result = { readonly outcome: string; readonly created?: boolean; readonly user: User; readonly auth_code?: string }
type Attempt = Readonly<Record<string, unknown>>

const requestOf = ({ provider = 'acme', subject, email, email_verified: verified = true, ...more }: Attempt) =>
  JSON.stringify({
    ...{ provider, subject, email, email_verified: verified, aud: 'authenticated', role: 'authenticated' },
    identity_data: { sub: subject, email, email_verified: verified, full_name: 'Ann' },
    ...{ autoconfirm: false, disable_signup: false, email_optional: false, allow_unverified: false, ip: '192.0.2.1' },
    ...more,
  })
const signIn = (attempt: Attempt) =>
  asService<Result>('select result as value from auth.sign_in_with_provider($1)', [requestOf(attempt)])
const link = (attempt: Attempt) =>
  asService<Result>('select result as value from auth.link_identity($1)', [requestOf(attempt)])
const unlink = (userId: string, identityId: string, autoconfirm = false) =>
  asService<Result>('select auth.unlink_identity($1, $2, $3, null) as value', [userId, identityId, autoconfirm])

let count = 0
/** An address that no other test uses. */
const address = (name = 'user') => `${name}-${++count}@example.org`
const subject = () => `subject-${++count}`

/** Adds an account as sign-up with a password does. */
async function addUser(email: string | null, columns: Readonly<Record<string, unknown>> = {}): Promise<string> {
  const all = {
    ...{ aud: 'authenticated', role: 'authenticated', email, encrypted_password: 'hash', created_at: 'now' },
    ...{ email_confirmed_at: 'now', raw_app_meta_data: '{}', raw_user_meta_data: '{"full_name": "Mallory"}' },
    ...columns,
  }
  const names = Object.keys(all)
  const { rows } = await database.query(
    `insert into auth.users (id, ${names.join(', ')})
     values (gen_random_uuid(), ${names.map((_, index) => `$${index + 1}`).join(', ')}) returning id`,
    Object.values(all),
  )
  const id = String(rows[0]?.id)
  if (email !== null) {
    await database.query(
      `insert into auth.identities (provider_id, user_id, identity_data, provider, created_at)
       values ($1::uuid::text, $1::uuid, $2, 'email', now())`,
      [id, JSON.stringify({ sub: id, email, email_verified: columns.email_confirmed_at !== null })],
    )
  }
  return id
}
const userRow = async (id: string) => (await database.query('select * from auth.users where id = $1', [id])).rows[0]
const countOf = async (table: string, id: string) =>
  Number((await database.query(`select count(*) from auth.${table} where user_id::text = $1`, [id])).rows[0]?.count)
const providersOf = ({ user }: Result) => user.identities.map(({ provider }) => provider).sort()

t.test('a new user with a verified address gets a confirmed account', async (t) => {
  const [email, sub] = [address(), subject()]
  const first = await signIn({ subject: sub, email: email.toUpperCase() })
  t.match(first, { outcome: 'signed_in', created: true, user: { email, email_confirmed_at: String } })
  t.strictSame(first.user.app_metadata, { provider: 'acme', providers: ['acme'] })
  t.match(first.user.user_metadata, { full_name: 'Ann', email_verified: true })
  const second = await signIn({ subject: sub, email: address() })
  t.match(second, { outcome: 'signed_in', created: false, user: { id: first.user.id, email } }, 'found by its identity')
  t.equal((await signIn({ subject: sub, provider: 'other', email: address() })).created, true, 'of another provider')
  t.equal(await countOf('sessions', first.user.id), 2)
})

t.test('an identity with the verified address of an account is linked to it', async (t) => {
  const email = address()
  const id = await addUser(email.replace('user', 'USER'))
  const result = await signIn({ subject: subject(), email })
  t.match(result, { outcome: 'signed_in', created: false, user: { id } })
  t.strictSame(providersOf(result), ['acme', 'email'])
  t.equal((await userRow(id))?.encrypted_password, 'hash', 'a confirmed account keeps its password')
  t.match(result.user.app_metadata, { provider: 'email', providers: ['email', 'acme'] })
})

t.test('an address that the provider has not verified never leads to an account of somebody else', async (t) => {
  for (const settings of [{}, { autoconfirm: true }, { allow_unverified: true }]) {
    for (const confirmed of ['now', null]) {
      const email = address('victim')
      const id = await addUser(email, { email_confirmed_at: confirmed })
      const result = await signIn({ subject: subject(), email, email_verified: false, ...settings })
      t.not(result.user.id, id)
      t.equal(result.user.email, '', 'the new account does not have the address')
      t.equal(await countOf('identities', id), 1)
      const expected = Object.keys(settings).length === 0 ? 'needs_verification' : 'signed_in'
      t.equal(result.outcome, expected)
    }
  }
})

t.test('an account with an unverified address cannot be prepared for its later owner', async (t) => {
  const email = address('victim')
  const id = await addUser(email, { email_confirmed_at: null, phone: '15550001', phone_confirmed_at: 'now' })
  await database.query(
    `insert into auth.sessions (id, user_id, created_at) values (gen_random_uuid(), '${id}', now());
     insert into auth.mfa_factors (id, user_id, factor_type, status, created_at, updated_at)
     values (gen_random_uuid(), '${id}', 'totp', 'verified', now(), now())`,
  )
  const result = await signIn({ subject: subject(), email })
  t.match(result, { outcome: 'signed_in', user: { id, email_confirmed_at: String } })
  t.strictSame(providersOf(result), ['acme'])
  t.match(await userRow(id), { encrypted_password: null, phone: null })
  t.notMatch(result.user.user_metadata, { full_name: 'Mallory' })
  t.equal(await countOf('sessions', id), 1, 'only the new session is left')
  t.equal(await countOf('mfa_factors', id), 0)
})

for (const by of ['sign-in', 'the identity', 'linking', 'linking with PKCE'] as const) {
  void t.test(`an account whose address was never proved cannot be prepared for its later owner: ${by}`, async (t) => {
    const email = address('victim')
    const id = await addUser(email, { email_unproven: true, phone: `1666000${++count}`, phone_confirmed_at: 'now' })
    const [own, foreign, session] = [subject(), subject(), crypto.randomUUID()]
    const identity = (sub: string, its: string) =>
      database.query(
        `insert into auth.identities (provider_id, user_id, identity_data, provider, created_at)
         values ($1, $2, $3, 'acme', now())`,
        [sub, id, JSON.stringify({ sub, email: its, email_verified: true })],
      )
    await identity(foreign, address('mallory'))
    if (by === 'the identity') await identity(own, email)
    await database.query(
      `insert into auth.sessions (id, user_id, created_at, aal) values ('${session}', '${id}', now(), 'aal2');
       insert into auth.mfa_factors (id, user_id, factor_type, status, created_at, updated_at)
       values (gen_random_uuid(), '${id}', 'totp', 'verified', now(), now());
       insert into auth.flow_state (id, linking_target_id, provider_type, authentication_method)
       values (gen_random_uuid(), '${id}', 'acme', 'oauth')`,
    )
    const [flow] = by.endsWith('PKCE')
      ? (
          await database.query(
            `insert into auth.flow_state (id, linking_target_id, provider_type, authentication_method, auth_code)
             values (gen_random_uuid(), '${id}', 'acme', 'oauth', 'code of ${own}') returning id`,
          )
        ).rows
      : []
    // An address that the provider has not verified proves nothing.
    await signIn({ subject: foreign, email: address(), email_verified: false })
    t.match(await userRow(id), { encrypted_password: 'hash', email_unproven: true })
    const linking = by.startsWith('linking')
    const result = linking
      ? await link({ user_id: id, session_id: session, subject: own, email, ...(flow ? { flow_id: flow.id } : {}) })
      : await signIn({ subject: own, email })
    t.equal(result.outcome, linking ? 'linked' : 'signed_in')
    if (flow) t.equal(result.auth_code, `code of ${own}`)
    t.match(await userRow(id), {
      encrypted_password: null,
      phone: null,
      email_unproven: false,
      email_confirmed_at: Date,
    })
    const { rows } = await database.query('select provider_id from auth.identities where user_id = $1', [id])
    t.strictSame(rows, [{ provider_id: own }])
    t.equal(await countOf('sessions', id), flow ? 0 : 1, 'only the new session is left')
    t.equal(await countOf('mfa_factors', id), 0)
    const flows = await database.query('select id from auth.flow_state where linking_target_id = $1', [id])
    t.strictSame(
      flows.rows.map((row) => row.id),
      flow ? [flow.id] : [],
    )
    await database.query("update auth.users set encrypted_password = 'own' where id = $1", [id])
    await signIn({ subject: own, email })
    t.equal((await userRow(id))?.encrypted_password, 'own', 'the address was proved once and for all')
  })
}

t.test('an identity with an unverified address does not attract that of its owner', async (t) => {
  const victim = address('victim')
  const mallory = await signIn({ subject: subject(), email: address('mallory') })
  const linked = await link({
    ...{ user_id: mallory.user.id, provider: 'careless', subject: subject(), email: victim, email_verified: false },
  })
  t.equal(linked.outcome, 'linked', 'an account with an address may have such an identity')
  const result = await signIn({ subject: subject(), email: victim })
  t.match(result, { outcome: 'signed_in', created: true })
  t.not(result.user.id, mallory.user.id)
})

t.test('an identity is linked to the account with another identity that has the same verified address', async (t) => {
  const shared = address()
  const ann = await signIn({ subject: subject(), email: address() })
  await link({ user_id: ann.user.id, provider: 'other', subject: subject(), email: shared })
  t.match(await signIn({ subject: subject(), provider: 'third', email: shared }), {
    ...{ outcome: 'signed_in', created: false, user: { id: ann.user.id } },
  })
  const bob = await signIn({ subject: subject(), email: address() })
  await link({ user_id: bob.user.id, provider: 'other', subject: subject(), email: shared })
  t.equal((await signIn({ subject: subject(), provider: 'fourth', email: shared })).outcome, 'multiple_accounts')
})

t.test('an account with an unverified address must be confirmed, by mail or by the provider', async (t) => {
  const [email, sub] = [address(), subject()]
  const first = await signIn({ subject: sub, email, email_verified: false })
  t.match(first, { outcome: 'needs_verification', created: true, user: { email } })
  t.notOk(first.user.email_confirmed_at)
  t.equal(await countOf('sessions', first.user.id), 0)
  t.equal((await signIn({ subject: sub, email, email_verified: false })).outcome, 'needs_verification')
  const verified = await signIn({ subject: sub, email })
  t.match(verified, { outcome: 'signed_in', user: { id: first.user.id, email_confirmed_at: String } })
  const autoconfirmed = { subject: subject(), email: address(), email_verified: false, autoconfirm: true }
  t.match(await signIn(autoconfirmed), { outcome: 'signed_in', user: { email_confirmed_at: String } })
})

t.test('a verified address does not confirm another one', async (t) => {
  const [email, sub] = [address(), subject()]
  const { user } = await signIn({ subject: sub, email, email_verified: false })
  const result = await signIn({ subject: sub, email: address() })
  t.match(result, { outcome: 'signed_in', user: { id: user.id, email } })
  t.notOk(result.user.email_confirmed_at)
})

t.test('an account without an address gets one that the provider has verified', async (t) => {
  const [taken, sub] = [address(), subject()]
  await addUser(taken)
  const first = await signIn({ subject: sub, email: taken, email_verified: false })
  t.match(first, { outcome: 'needs_verification', user: { email: '' } })
  const email = address()
  t.match(await signIn({ subject: sub, email }), { user: { id: first.user.id, email, email_confirmed_at: String } })
})

t.test('refuses new accounts, and banned ones', async (t) => {
  const [email, sub] = [address(), subject()]
  t.strictSame(await signIn({ subject: sub, email, disable_signup: true }), { outcome: 'signup_disabled' })
  const { user } = await signIn({ subject: sub, email })
  t.equal((await signIn({ subject: sub, email, disable_signup: true })).outcome, 'signed_in')
  await database.query("update auth.users set banned_until = now() + interval '1 day' where id = $1", [user.id])
  t.strictSame(await signIn({ subject: sub, email }), { outcome: 'user_banned' })
  t.equal((await signIn({ subject: subject(), email })).outcome, 'user_banned', 'by its address, too')
  t.equal(await countOf('identities', user.id), 1)
})

t.test('accounts without an address are accepted if the provider need not have one', async (t) => {
  t.match(await signIn({ subject: subject(), email: null, email_verified: false, email_optional: true }), {
    ...{ outcome: 'signed_in', created: true, user: { email: '' } },
  })
  t.match(await signIn({ subject: subject(), email: null, email_verified: false }), { outcome: 'needs_verification' })
})

t.test('fifty sign-ins of a new user at once create one account', async (t) => {
  const [email, sub] = [address(), subject()]
  const results = await Promise.all(Array.from({ length: 50 }, () => signIn({ subject: sub, email })))
  t.equal(new Set(results.map(({ user }) => user.id)).size, 1)
  t.equal(results.filter(({ created }) => created).length, 1)
  const other = address()
  const linked = await Promise.all(
    Array.from({ length: 20 }, (_, index) => signIn({ subject: subject(), provider: `p${index}`, email: other })),
  )
  t.equal(new Set(linked.map(({ user }) => user.id)).size, 1, 'identities of one address, too')
})

t.test('links identities to an account', async (t) => {
  const ann = await signIn({ subject: subject(), email: address() })
  const bob = await signIn({ subject: subject(), email: address() })
  const attempt = { user_id: ann.user.id, provider: 'other', subject: subject(), email: address() }
  t.equal((await link(attempt)).outcome, 'linked')
  t.equal((await link(attempt)).outcome, 'already_linked')
  t.equal((await link({ ...attempt, user_id: bob.user.id })).outcome, 'linked_to_other')
  t.equal((await link({ ...attempt, user_id: crypto.randomUUID() })).outcome, 'user_not_found')
  t.equal((await userRow(ann.user.id))?.email, ann.user.email, 'the account keeps its address')
})

t.test('an anonymous account becomes a permanent one', async (t) => {
  const anonymous = () => addUser(null, { is_anonymous: true, email_confirmed_at: null, encrypted_password: '' })
  const id = await anonymous()
  const email = address()
  t.equal((await link({ user_id: id, subject: subject(), email })).outcome, 'linked')
  t.match(await userRow(id), { email, is_anonymous: false, email_confirmed_at: Date })
  const other = await anonymous()
  t.equal((await link({ user_id: other, subject: subject(), email })).outcome, 'email_exists')
  t.equal(await countOf('identities', other), 0)
  const unverified = { user_id: other, subject: subject(), email: address(), email_verified: false }
  t.equal((await link(unverified)).outcome, 'needs_verification')
  t.match(await userRow(other), { is_anonymous: true, email_confirmed_at: null })
})

t.test('unlinks identities', async (t) => {
  const email = address()
  const id = await addUser(email, { recovery_token: `t${++count}` })
  const second = await signIn({ subject: subject(), email })
  const [own, acme] = [...second.user.identities].sort((a, b) => b.provider.localeCompare(a.provider))
  const bob = await signIn({ subject: subject(), email: address() })
  t.equal((await unlink(bob.user.id, acme?.identity_id ?? '')).outcome, 'single_identity')
  await link({ user_id: bob.user.id, provider: 'other', subject: subject(), email: address() })
  t.equal((await unlink(bob.user.id, acme?.identity_id ?? '')).outcome, 'not_found', 'of another account')
  const result = await unlink(id, own?.identity_id ?? '')
  t.match(result, { outcome: 'unlinked', user: { email, app_metadata: { provider: 'acme', providers: ['acme'] } } })
  t.ok((await userRow(id))?.recovery_token, 'the address is the same')
  t.equal((await unlink(id, acme?.identity_id ?? '')).outcome, 'single_identity')
})

t.test('an account whose address goes gets that of another identity', async (t) => {
  const [first, unverified, verified] = [address('a'), address('b'), address('c')]
  const { user } = await signIn({ subject: subject(), email: first })
  await link({ user_id: user.id, provider: 'p1', subject: subject(), email: unverified, email_verified: false })
  await link({ user_id: user.id, provider: 'p2', subject: subject(), email: verified })
  await database.query('update auth.users set recovery_token = $2 where id = $1', [user.id, `t${++count}`])
  const [identity] = user.identities
  const after = await unlink(user.id, identity?.identity_id ?? '')
  t.match(after.user, { email: verified, email_confirmed_at: String })
  t.equal((await userRow(user.id))?.recovery_token, '', 'codes for the old address are not valid any more')
  const p2 = after.user.identities.find(({ provider }) => provider === 'p2')
  const last = await unlink(user.id, p2?.identity_id ?? '')
  t.match(last.user, { email: unverified, user_metadata: { email_verified: false } })
  t.notOk(last.user.email_confirmed_at)
})

t.test('an identity stays if all other addresses belong to other accounts', async (t) => {
  const taken = address()
  await addUser(taken)
  const { user } = await signIn({ subject: subject(), email: address() })
  await link({ user_id: user.id, provider: 'p1', subject: subject(), email: taken })
  t.equal((await unlink(user.id, user.identities[0]?.identity_id ?? '')).outcome, 'email_conflict')
})

/** A flow that a sign-in has finished: its code and its verifier. */
async function finishedFlow(
  t: Test,
  verifier = 'v'.repeat(43),
  method: 'plain' | 's256' = 'plain',
  challenge = verifier,
) {
  const flow = {
    ...{ provider_type: 'acme', authentication_method: 'oauth', code_verifier: 'x', referrer: 'http://localhost' },
    ...{ code_challenge: challenge, code_challenge_method: method },
  }
  const { id } = await asService<{ id: string }>('select auth.create_flow_state($1) as value', [JSON.stringify(flow)])
  const taken = await take(id)
  t.match(taken, { outcome: 'taken', code_verifier: 'x', referrer: 'http://localhost', is_pkce: true })
  const { auth_code: code = '' } = await signIn({
    subject: subject(),
    email: address(),
    flow_id: id,
    provider_token: 'p',
  })
  return { id, code }
}
const take = (id: string, lifetime = '5 min') =>
  asService<Result>('select auth.take_oauth_state($1, $2) as value', [id, lifetime])
const exchange = (code: string, verifier: string, lifetime = '5 min') =>
  asService<Result>('select result as value from auth.exchange_auth_code($1, $2, $3, null, null)', [
    ...[code, verifier, lifetime],
  ])

t.test('a state continues one flow', async (t) => {
  const { id } = await finishedFlow(t)
  t.strictSame(await take(id), { outcome: 'used' })
  t.strictSame(await take(crypto.randomUUID()), { outcome: 'not_found' })
  const flow = { provider_type: 'acme', authentication_method: 'oauth', code_verifier: 'x' }
  const create = (more: object) =>
    asService<{ id: string }>('select auth.create_flow_state($1) as value', [JSON.stringify({ ...flow, ...more })])
  const implicit = await create({})
  const results = await Promise.all(Array.from({ length: 20 }, () => take(implicit.id)))
  t.equal(results.filter(({ outcome }) => outcome === 'taken').length, 1)
  t.strictSame(await take((await create({})).id, '0'), { outcome: 'expired' })
  const mail = await create({ code_verifier: undefined, code_challenge: 'c', code_challenge_method: 'plain' })
  t.strictSame(await take(mail.id), { outcome: 'not_found' }, 'the flow of a mail is not one at a provider')
})

t.test('a code is exchanged once, by the client with the verifier', async (t) => {
  const { code } = await finishedFlow(t)
  t.strictSame(await exchange(code, 'w'.repeat(43)), { outcome: 'bad_verifier' })
  t.strictSame(await exchange(code, 'v'.repeat(43), '0'), { outcome: 'expired' })
  const results = await Promise.all(Array.from({ length: 20 }, () => exchange(code, 'v'.repeat(43))))
  t.strictSame(
    results.map(({ outcome }) => outcome).sort(),
    ['exchanged', ...Array<string>(19).fill('not_found')],
    'concurrently, too',
  )
  // The example of RFC 7636, appendix B.
  const verifier = 'dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk'
  const s256 = await finishedFlow(t, verifier, 's256', 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM')
  t.strictSame(await exchange(s256.code, 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM'), { outcome: 'bad_verifier' })
  t.match(await exchange(s256.code, verifier), { outcome: 'exchanged', method: 'oauth', provider_token: 'p' })
})

t.test('a code that was not issued cannot be exchanged', async (t) => {
  const id = await addUser(address())
  const flow = {
    ...{ user_id: id, provider_type: 'email', authentication_method: 'magiclink' },
    ...{ code_challenge: 'v', code_challenge_method: 'plain' },
  }
  await asService('select auth.create_flow_state($1) as value', [JSON.stringify(flow)])
  const { rows } = await database.query('select auth_code from auth.flow_state where user_id = $1', [id])
  const code = String(rows[0]?.auth_code)
  t.strictSame(await exchange(code, 'v'), { outcome: 'not_found' })
  const issued = await asService<{ auth_code: string }>("select auth.issue_auth_code($1, 'magiclink') as value", [id])
  t.equal(issued.auth_code, code)
  t.match(await exchange(code, 'v'), { outcome: 'exchanged', method: 'magiclink' })
})

t.test('only the role of the service may call the functions', async (t) => {
  for (const role of ['anon', 'authenticated', 'service_role']) {
    const call = withClient(database.authenticatorUri, async (client) => {
      await client.query(`set role ${role}`)
      await client.query('select auth.sign_in_with_provider($1)', [requestOf({ subject: 'x', email: address() })])
    })
    await t.rejects(call, { code: '42501' }, role)
  }
})
