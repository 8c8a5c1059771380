// `/auth/v1/admin`: accounts, second factors and the audit log, request by request.
import argon2 from '@node-rs/argon2'
import bcrypt from '@node-rs/bcrypt'
import t from 'tap'
import { createApiKey } from '../../server/identity/api-key/api-key.ts'
import { startApplication } from '../support/application.ts'
import {
  askAuth,
  claimsOf,
  codeOf,
  newAddress,
  password,
  passwordGrant,
  refreshGrant,
  sessionOf,
  signUp,
  type AskAuth,
  type Json,
} from '../support/auth.ts'
import { createMigratedDatabase, withClient } from '../support/database.ts'
import { enroll, raise } from '../support/second-factor.ts'
import { signToken } from '../support/token.ts'

const database = await createMigratedDatabase()
t.teardown(() => database.drop())
const { url } = await startApplication(t, database.authenticatorUri, { GOTRUE_MAILER_AUTOCONFIRM: 'true' })
const ask = askAuth(url)
const token = await signToken({ role: 'service_role' })
const admin: AskAuth = (method, path, more = {}) => ask(method, `/admin${path}`, { token, ...more })
/** `Algorithm.Argon2i`, which is a const enum. */
const argon2i = 1
const unknown = '99999999-9999-4999-8999-999999999999'

const create = async (body: Json): Promise<Json & { readonly id: string }> => {
  const answer = await admin('POST', '/users', { body })
  if (answer.status !== 200) throw new Error(answer.text)
  return answer.body as Json & { id: string }
}

const signIn = (email: string, secret: string) => passwordGrant(ask, email, secret)

t.test('only administrators may call these routes', async (t) => {
  const { access_token: user } = await signUp(ask)
  const newKey = (role: string) =>
    withClient(database.adminUri, async (client) => (await createApiKey(client, { role, label: role })).key)
  const anon = await signToken({ role: 'anon' })
  const id = (await create({ email: newAddress() })).id
  const routes = [
    ['GET', '/users'],
    ['POST', '/users'],
    ['GET', `/users/${id}`],
    ['PUT', `/users/${id}`],
    ['DELETE', `/users/${id}`],
    ['GET', `/users/${id}/factors`],
    ['PUT', `/users/${id}/factors/${unknown}`],
    ['DELETE', `/users/${id}/factors/${unknown}`],
    ['GET', '/audit'],
  ] as const
  const publishable = await newKey('anon')
  for (const [method, path] of routes) {
    const body = method === 'GET' ? {} : { body: {} }
    const rows = [
      [await ask(method, `/admin${path}`, body), 401, 'no_authorization'],
      [await ask(method, `/admin${path}`, { ...body, token: user }), 403, 'not_admin'],
      [await ask(method, `/admin${path}`, { ...body, token: anon }), 403, 'not_admin'],
      [await ask(method, `/admin${path}`, { ...body, token: publishable }), 403, 'not_admin'],
      [await ask(method, `/admin${path}`, { ...body, token: `${token}x` }), 403, 'bad_jwt'],
    ] as const
    for (const [answer, status, code] of rows) t.strictSame([answer.status, codeOf(answer)], [status, code], path)
  }
  const secret = await newKey('service_role')
  t.equal((await ask('GET', `/admin/users/${id}`, { token: secret })).status, 200, 'a secret key as bearer')
  t.equal((await ask('GET', `/admin/users/${id}`, { headers: { apikey: secret } })).status, 200, 'a secret key alone')
  t.equal((await admin('GET', '/users', { token: await signToken({ role: 'supabase_admin' }) })).status, 200)
})

t.test('an account with all attributes', async (t) => {
  const id = '3b0e3f0c-7c5e-4a44-9f5e-000000000001'
  const email = newAddress()
  const phone = '15550000001'
  const { status, body } = await admin('POST', '/users', {
    text: `{"id":"${id}","email":"${email.toUpperCase()}","phone":"+1 555 0000001","password":"${password}",
      "email_confirm":true,"phone_confirm":true,"user_metadata":{"name":"Ann","big":12345678901234567890},
      "app_metadata":{"roles":["editor"]},"role":"authenticated","ban_duration":"none","unknown":1}`,
  })
  t.equal(status, 200)
  t.match(body, {
    id,
    aud: 'authenticated',
    role: 'authenticated',
    email,
    phone,
    email_confirmed_at: String,
    phone_confirmed_at: String,
    app_metadata: { provider: 'email', providers: ['email', 'phone'], roles: ['editor'] },
    user_metadata: { name: 'Ann', email_verified: true },
    identities: [
      { provider: 'email', id, identity_data: { sub: id, email, email_verified: true } },
      { provider: 'phone', id, identity_data: { sub: id, phone, phone_verified: true } },
    ],
    is_anonymous: false,
  })
  t.notOk('banned_until' in body)
  const shown = await admin('GET', `/users/${id}`)
  t.strictSame([shown.status, shown.body], [200, body])
  t.match(shown.text, '12345678901234567890', 'numbers keep all digits')
  t.equal((await signIn(email, password)).status, 200)
  const plain = await create({ email: newAddress() })
  t.notOk('email_confirmed_at' in plain)
  t.strictSame(plain.user_metadata, {})
})

t.test('imported hashes verify at sign-in, and are replaced', async (t) => {
  const secret = 'imported password'
  const hashes: readonly (readonly [hash: string, secret: string])[] = [
    [await bcrypt.hash(secret, 4), secret],
    [await argon2.hash(secret, { memoryCost: 1024, timeCost: 3, parallelism: 2 }), secret],
    [await argon2.hash(secret, { algorithm: argon2i, memoryCost: 1024, timeCost: 3 }), secret],
    // The example of https://github.com/firebase/scrypt
    [
      '$fbscrypt$v=1,n=14,r=8,p=1,ss=Bw==,' +
        'sk=jxspr8Ki0RYycVU8zykbdLGjFQ3McFUH0uiiTvC8pVMXAn210wjLNmdZJzxUECKbm0QsEmYUSDzZvpjeJ9WmXA==' +
        '$42xEC+ixf3L2lw==$lSrfV15cpx95/sZS2W9c9Kp6i/LVgQNDNC/qzrCnh1SAyZvqmZqAjTdn3aoItz+VHjoZilo78198JAdRuid5lQ==',
      'user1password',
    ],
  ]
  for (const [hash, right] of hashes) {
    const email = newAddress()
    const created = await admin('POST', '/users', { body: { email, password_hash: hash, email_confirm: true } })
    t.equal(created.status, 200, created.text)
    t.equal((await signIn(email, right)).status, 200, hash)
    t.equal((await signIn(email, `${right}x`)).status, 400)
  }
  for (const hash of [
    'plain',
    '$2a$10$short',
    '$argon2d$v=19$m=32,t=3,p=2$c2FsdA$aGFzaA',
    '$fbscrypt$v=2,n=1',
    '$1$x',
  ]) {
    const answer = await admin('POST', '/users', { body: { email: newAddress(), password_hash: hash } })
    t.match([answer.status, codeOf(answer)], [400, 'validation_failed'], hash)
  }
})

t.test('attributes that are refused', async (t) => {
  const taken = newAddress()
  const { id: takenId } = await create({ email: taken, phone: '15550000002' })
  const email = newAddress()
  const { id } = await create({ email, phone: '15550000003' })
  const at = `/users/${id}`
  const fresh = { email: 'fresh@example.org' }
  const rows: readonly (readonly [string, string, Json | string, number, string, RegExp])[] = [
    ['POST', '/users', {}, 400, 'validation_failed', /either an email or phone/],
    ['POST', '/users', { email: null, phone: '' }, 400, 'validation_failed', /either an email or phone/],
    ['POST', '/users', { email: 'no address' }, 400, 'validation_failed', /Unable to validate email address/],
    ['POST', '/users', { phone: '0123' }, 400, 'validation_failed', /E\.164/],
    ['POST', '/users', { email: taken.toUpperCase() }, 422, 'email_exists', /already been registered/],
    ['POST', '/users', { ...fresh, phone: '+15550000002' }, 422, 'phone_exists', /already registered/],
    ['POST', '/users', { ...fresh, id: takenId }, 422, 'user_already_exists', /id/],
    ['POST', '/users', { ...fresh, id: 'x' }, 400, 'validation_failed', /uuid/],
    ['POST', '/users', { ...fresh, id: '00000000-0000-0000-0000-000000000000' }, 400, 'validation_failed', /nil/],
    ['POST', '/users', { ...fresh, password: 'x'.repeat(73) }, 400, 'validation_failed', /longer than 72/],
    ['POST', '/users', { ...fresh, password, password_hash: '$2a$' }, 400, 'validation_failed', /Only a password or/],
    ['POST', '/users', { ...fresh, ban_duration: '24' }, 400, 'validation_failed', /invalid format for ban duration/],
    ['POST', '/users', { ...fresh, ban_duration: '1d' }, 400, 'validation_failed', /invalid format for ban duration/],
    ['POST', '/users', { ...fresh, user_metadata: [] }, 400, 'bad_json', /user_metadata/],
    ['POST', '/users', { ...fresh, email_confirm: 'yes' }, 400, 'bad_json', /email_confirm/],
    ['POST', '/users', { ...fresh, user_metadata: { a: '\0' } }, 400, 'validation_failed', /NUL/],
    ['POST', '/users', { ...fresh, role: 'a\0' }, 400, 'validation_failed', /NUL/],
    ['POST', '/users', '{', 400, 'bad_json', /JSON/],
    ['PUT', at, { email: taken }, 422, 'email_exists', /already been registered/],
    ['PUT', at, { phone: '15550000002' }, 422, 'phone_exists', /already registered/],
    ['PUT', at, { password: 'x' }, 422, 'weak_password', /at least 6/],
    ['PUT', at, { password: '' }, 422, 'weak_password', /at least 6/],
    ['PUT', at, { ban_duration: 'x' }, 400, 'validation_failed', /invalid format for ban duration/],
    ['PUT', `/users/${unknown}`, { role: 'authenticated' }, 404, 'user_not_found', /^User not found$/],
    ['PUT', '/users/x', {}, 404, 'validation_failed', /user_id must be an UUID/],
    ['GET', `/users/${unknown}`, '', 404, 'user_not_found', /^User not found$/],
    ['GET', '/users/x', '', 404, 'validation_failed', /user_id must be an UUID/],
    ['DELETE', `/users/${unknown}`, {}, 404, 'user_not_found', /^User not found$/],
    ['DELETE', at, { should_soft_delete: 'no' }, 400, 'bad_json', /should_soft_delete/],
    ['GET', `/users/${unknown}/factors`, '', 404, 'user_not_found', /^User not found$/],
    ['PUT', `${at}/factors/${unknown}`, {}, 404, 'mfa_factor_not_found', /^Factor not found$/],
    ['DELETE', `${at}/factors/${unknown}`, '', 404, 'mfa_factor_not_found', /^Factor not found$/],
    ['DELETE', `/users/${unknown}/factors/${unknown}`, '', 404, 'user_not_found', /^User not found$/],
    ['GET', '/users?page=-1', '', 400, 'validation_failed', /Bad Pagination Parameters/],
    ['GET', '/users?per_page=x', '', 400, 'validation_failed', /Bad Pagination Parameters/],
    ['GET', '/users?sort=email', '', 400, 'validation_failed', /bad field for sort 'email'/],
    ['GET', '/users?sort=created_at%20up', '', 400, 'validation_failed', /bad direction for sort 'up'/],
    ['GET', '/users?filter=%00', '', 400, 'validation_failed', /NUL/],
    ['GET', '/audit?query=login', '', 400, 'validation_failed', /Invalid query scope: login/],
    ['GET', '/audit?query=constructor:x', '', 400, 'validation_failed', /Invalid query scope/],
  ]
  for (const [method, path, body, status, code, message] of rows) {
    const sent = body === '' ? {} : typeof body === 'string' ? { text: body } : { body }
    const answer = await admin(method, path, sent)
    t.match(
      { status: answer.status, code: codeOf(answer), message: String(answer.body.msg) },
      { status, code, message },
      `${method} ${path} ${JSON.stringify(body)}`,
    )
  }
  t.equal((await admin('GET', at)).body.email, email, 'nothing was changed')
})

t.test('accounts are listed in pages, and found by their addresses', async (t) => {
  const before = Number((await admin('GET', '/users?per_page=1')).headers.get('x-total-count'))
  const ann = await create({ email: 'ann_lee@list.example', user_metadata: { full_name: 'Ann 100% Lee' } })
  const joann = await create({ email: 'joann_lee@list.example', phone: '15550000077' })
  const max = await create({ email: 'annxlee@list.example' })
  const list = async (query: string) => {
    const { body, headers, status } = await admin('GET', `/users?${query}`)
    t.equal(status, 200, query)
    return {
      ids: (body.users as { id: string }[]).map(({ id }) => id),
      aud: body.aud,
      total: headers.get('x-total-count'),
      link: headers.get('link'),
    }
  }
  const all = before + 3
  t.strictSame(await list('page=1&per_page=2'), {
    ids: [max.id, joann.id],
    aud: 'authenticated',
    total: String(all),
    link:
      `</auth/v1/admin/users?page=2&per_page=2>; rel="next", ` +
      `</auth/v1/admin/users?page=${Math.ceil(all / 2)}&per_page=2>; rel="last"`,
  })
  t.equal((await list('sort=created_at%20asc&per_page=1000')).ids.at(-1), max.id)
  t.strictSame((await list(`page=${all + 1}&per_page=1`)).ids, [])
  const rows: readonly (readonly [filter: string, ids: readonly string[]])[] = [
    ['ann_lee@list.example', [ann.id]],
    ['ANN_LEE@list.example', [ann.id]],
    [joann.id, [joann.id]],
    ['+15550000077', [joann.id]],
    ['ann_lee', [joann.id, ann.id]],
    ['100%', [ann.id]],
    ['LEE@list', [max.id, joann.id, ann.id]],
    ['0000077', [joann.id]],
    ["'; drop table auth.users; --", []],
    ['\\', []],
    [unknown, []],
  ]
  for (const [filter, ids] of rows) {
    const found = await list(new URLSearchParams({ filter }).toString())
    t.strictSame([found.ids, found.total], [ids, String(ids.length)], filter)
  }
})

t.test('an account is changed', async (t) => {
  const session = await signUp(ask, newAddress(), { name: 'Old', gone: 1 })
  const { id } = session.user
  const email = newAddress()
  await database.query("update auth.users set recovery_token = 'x' where id = $1", [id])
  const changed = await admin('PUT', `/users/${id}`, {
    body: {
      email,
      user_metadata: { name: 'New', gone: null },
      app_metadata: { roles: ['a'], provider: null },
      role: 'authenticated',
      ban_duration: '24h',
    },
  })
  t.match(changed.body, {
    email,
    user_metadata: { name: 'New' },
    app_metadata: { roles: ['a'], providers: ['email'] },
    banned_until: String,
    identities: [{ identity_data: { email } }],
  })
  t.notOk('gone' in (changed.body.user_metadata as Json))
  const until = new Date(String(changed.body.banned_until)).getTime() - Date.now()
  t.ok(until > 23 * 3_600_000 && until <= 24 * 3_600_000)
  t.equal(codeOf(await ask('GET', '/user', { token: session.access_token })), 'user_banned')
  t.equal(codeOf(await signIn(email, password)), 'user_banned')
  const { rows } = await database.query('select recovery_token from auth.users where id = $1', [id])
  t.strictSame(rows, [{ recovery_token: '' }], 'pending codes are invalid')
  t.notOk('banned_until' in (await admin('PUT', `/users/${id}`, { body: { ban_duration: 'none' } })).body)
  t.equal((await signIn(email, password)).status, 200)

  await admin('PUT', `/users/${id}`, { body: { password: 'a new password' } })
  t.equal(codeOf(await ask('GET', '/user', { token: session.access_token })), 'session_not_found', 'all sessions end')
  t.equal((await signIn(email, password)).status, 400)
  t.equal((await signIn(email, 'a new password')).status, 200)

  const plain = await create({ phone: '15550000088' })
  const both = await admin('PUT', `/users/${plain.id}`, { body: { email: newAddress(), email_confirm: true } })
  t.match(both.body, {
    email_confirmed_at: String,
    user_metadata: { email_verified: true },
    app_metadata: { provider: 'phone', providers: ['phone', 'email'] },
    identities: [{ provider: 'phone' }, { provider: 'email', identity_data: { email_verified: true } }],
  })
})

t.test('of concurrent creations of one address, one succeeds', async (t) => {
  const email = newAddress()
  const answers = await Promise.all(Array.from({ length: 20 }, () => admin('POST', '/users', { body: { email } })))
  t.equal(answers.filter(({ status }) => status === 200).length, 1)
  for (const answer of answers) if (answer.status !== 200) t.equal(codeOf(answer), 'email_exists')
})

t.test('deletion ends sessions; soft deletion keeps hashes', async (t) => {
  const hard = await signUp(ask)
  const gone = await admin('DELETE', `/users/${hard.user.id}`)
  t.strictSame([gone.status, gone.body], [200, {}])
  t.equal(codeOf(await ask('GET', '/user', { token: hard.access_token })), 'user_not_found')
  t.equal((await admin('GET', `/users/${hard.user.id}`)).status, 404)

  const soft = await signUp(ask, newAddress(), { name: 'Ann' })
  const { id } = soft.user
  await raise(ask, soft.access_token)
  const email = String(soft.user.email)
  t.equal((await admin('DELETE', `/users/${id}`, { body: { should_soft_delete: true } })).status, 200)
  const { body, text } = await admin('GET', `/users/${id}`)
  t.match(body, {
    email: /^[\w-]{43}$/,
    phone: '',
    deleted_at: String,
    user_metadata: {},
    app_metadata: {},
    identities: [{ id: /^[\w-]{43}$/, identity_data: {} }],
  })
  t.notOk('factors' in body)
  t.notMatch(text, email)
  t.not((await ask('GET', '/user', { token: soft.access_token })).status, 200)
  t.equal((await admin('DELETE', `/users/${id}`, { body: { should_soft_delete: true } })).status, 200, 'again')
  t.equal((await admin('GET', `/users/${id}`)).body.email, body.email)
  t.equal((await create({ email })).email, email, 'the address is free')
})

t.test('second factors of an account', async (t) => {
  const first = await signUp(ask)
  const { id } = first.user
  const { factor, session } = await raise(ask, first.access_token)
  const second = await enroll(ask, session.access_token, 'second')
  const at = `/users/${id}/factors`
  const listed = await ask('GET', `/admin${at}`, { token })
  const factors = JSON.parse(listed.text) as Json[]
  t.match(factors, [
    { id: factor.id, status: 'verified', friendly_name: 'app', factor_type: 'totp', created_at: String },
    { id: second.id, status: 'unverified' },
  ])
  t.notMatch(listed.text, factor.secret)
  const renamed = await admin('PUT', `${at}/${second.id}`, { body: { friendly_name: 'tablet', phone: '15551234' } })
  t.match(renamed.body, { id: second.id, friendly_name: 'tablet', phone: '' })
  const conflict = await admin('PUT', `${at}/${second.id}`, { body: { friendly_name: 'app' } })
  t.match([conflict.status, codeOf(conflict)], [422, 'mfa_factor_name_conflict'])
  const { id: other } = await create({ email: newAddress() })
  t.equal((await admin('DELETE', `/users/${other}/factors/${factor.id}`)).status, 404, 'of another account')
  const removed = await admin('DELETE', `${at}/${factor.id}`)
  t.match([removed.status, removed.body.id], [200, factor.id])
  const refreshed = await refreshGrant(ask, session.refresh_token)
  t.equal(claimsOf(sessionOf(refreshed)).aal, 'aal1')
})

t.test('the audit log', async (t) => {
  const email = newAddress()
  const { id } = await create({ email })
  await admin('PUT', `/users/${id}`, { body: { user_metadata: { a: 1 } } })
  await admin('DELETE', `/users/${id}`)
  const read = async (query: string) => {
    const answer = await ask('GET', `/admin/audit?${query}`, { token })
    t.equal(answer.status, 200)
    return { ...answer, entries: JSON.parse(answer.text) as { payload: Json; created_at: string; id: string }[] }
  }
  const { entries, headers } = await read('per_page=3')
  t.match(
    entries.map(({ payload }) => payload),
    [
      { action: 'user_deleted', log_type: 'team', traits: { user_id: id, user_email: email } },
      { action: 'user_modified', log_type: 'user', traits: { user_id: id, user_email: email } },
      { action: 'user_signedup', log_type: 'team', traits: { user_id: id, user_email: email, provider: 'email' } },
    ],
  )
  for (const { payload, created_at: at } of entries) {
    t.match(payload, { actor_id: '00000000-0000-0000-0000-000000000000', actor_username: 'service_role' })
    t.match(at, /Z$/)
  }
  t.match(headers.get('link'), '</auth/v1/admin/audit?page=2&per_page=3>; rel="next"')
  t.ok(Number(headers.get('x-total-count')) > 3)
  const rows: readonly (readonly [query: string, (payload: Json) => boolean])[] = [
    ['action:user_deleted', ({ action }) => action === 'user_deleted'],
    ['type:FACTOR', ({ log_type: type }) => type === 'factor'],
    ['author:service', ({ actor_username: name }) => name === 'service_role'],
  ]
  for (const [query, isExpected] of rows) {
    const found = (await read(new URLSearchParams({ query }).toString())).entries
    t.ok(found.length > 0, query)
    t.ok(
      found.every(({ payload }) => isExpected(payload)),
      query,
    )
  }
  t.strictSame((await read('query=action:%25')).entries, [], 'patterns are plain text')
})
