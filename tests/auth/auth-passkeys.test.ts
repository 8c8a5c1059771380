// `/auth/v1/passkeys`: registration, sign-in and management, and how they are attacked.
import { randomBytes, randomUUID } from 'node:crypto'
import t from 'tap'
import { startApplication } from '../support/application.ts'
import {
  askAuth,
  claimsOf,
  codeOf,
  passwordGrant,
  refreshGrant,
  sessionOf,
  signUp,
  type AuthAnswer,
  type Json,
} from '../support/auth.ts'
import { createMigratedDatabase } from '../support/database.ts'
import {
  answerRegistration,
  answerSignIn,
  beginRegistration,
  beginSignIn,
  register,
  signInWith,
} from '../support/passkey.ts'
import { raise } from '../support/second-factor.ts'
import { SoftAuthenticator, type Lie } from '../support/soft-authenticator.ts'
import { signToken } from '../support/token.ts'

const database = await createMigratedDatabase()
t.teardown(() => database.drop())
const origin = 'https://app.shop.example'
const rpId = 'shop.example'
const settings = {
  GOTRUE_MAILER_AUTOCONFIRM: 'true',
  GOTRUE_EXTERNAL_ANONYMOUS_USERS_ENABLED: 'true',
  GOTRUE_SITE_URL: 'https://shop.example',
  GOTRUE_PASSKEY_ENABLED: 'true',
  GOTRUE_PASSKEY_MAX_PASSKEYS_PER_USER: '3',
  GOTRUE_WEBAUTHN_RP_ID: rpId,
  GOTRUE_WEBAUTHN_RP_DISPLAY_NAME: 'Shop',
  GOTRUE_WEBAUTHN_RP_ORIGINS: `https://shop.example,${origin}`,
}
const { url, reload } = await startApplication(t, database.authenticatorUri, settings)
const ask = askAuth(url)
const admin = await signToken({ role: 'service_role' })
const newKey = (counts = true) => new SoftAuthenticator({ origin, rpId, counts })

/** A new user with a passkey. */
async function member(counts = true) {
  const session = await signUp(ask)
  const key = newKey(counts)
  const { status, body, text } = await register(ask, session.access_token, key)
  if (status !== 200) throw new Error(text)
  return { key, session, token: session.access_token, id: session.user.id, passkeyId: String(body.id) }
}

const failure = ({ status, body }: AuthAnswer) => [status, body.error_code, body.msg]

t.test('registration, sign-in, list, name and deletion', async (t) => {
  const session = await signUp(ask, undefined, { name: 'Ada Lovelace' })
  const { access_token: token, user } = session
  t.equal((await ask('GET', '/settings')).body.passkeys_enabled, true)
  const begun = await ask('POST', '/passkeys/registration/options', { token, body: {} })
  const options = begun.body.options as Json
  t.match(begun.body, { challenge_id: /^[0-9a-f-]{36}$/, expires_at: Number })
  t.strictSame(
    { ...options, challenge: '' },
    {
      rp: { id: rpId, name: 'Shop' },
      user: { id: Buffer.from(user.id).toString('base64url'), name: user.email, displayName: 'Ada Lovelace' },
      challenge: '',
      pubKeyCredParams: [-7, -8, -257].map((alg) => ({ type: 'public-key', alg })),
      timeout: 300_000,
      authenticatorSelection: { residentKey: 'required', requireResidentKey: true, userVerification: 'required' },
      attestation: 'none',
    },
  )
  const key = newKey()
  const added = await answerRegistration(ask, token, String(begun.body.challenge_id), key.create(options as never))
  t.strictSame([added.status, Object.keys(added.body)], [200, ['id', 'friendly_name', 'created_at']])
  t.equal(added.body.friendly_name, 'Passkey')
  const again = await beginRegistration(ask, token)
  t.strictSame(again.options.excludeCredentials, [
    { type: 'public-key', id: key.id.toString('base64url'), transports: ['internal', 'hybrid'] },
  ])

  const asked = await ask('POST', '/passkeys/authentication/options', { body: { gotrue_meta_security: {} } })
  t.strictSame(
    { ...(asked.body.options as Json), challenge: '' },
    { challenge: '', timeout: 300_000, rpId, userVerification: 'required' },
    'the user chooses the account',
  )
  const signedIn = sessionOf(await signInWith(ask, key))
  t.equal(signedIn.user.id, user.id)
  t.match(claimsOf(signedIn), { aal: 'aal1', amr: [{ method: 'passkey', timestamp: Number }] })
  t.match(claimsOf(sessionOf(await refreshGrant(ask, signedIn.refresh_token))), { amr: [{ method: 'passkey' }] })

  const id = String(added.body.id)
  const listSessions = async () =>
    (await database.query('select passkey from auth.list_sessions($1)', [user.id])).rows.map(({ passkey }) => passkey)
  t.strictSame(await listSessions(), [{ id, name: 'Passkey' }, null], 'the session names the passkey')
  const renamed = await ask('PATCH', `/passkeys/${id}`, { token, body: { friendly_name: '🔑'.repeat(120) } })
  t.match(renamed.body, { id, friendly_name: '🔑'.repeat(120), last_used_at: String })
  const listed = await ask('GET', '/passkeys', { token })
  t.strictSame(listed.body, [renamed.body])

  const removed = await ask('DELETE', `/passkeys/${id}`, { token })
  t.strictSame([removed.status, removed.text], [204, ''])
  t.strictSame((await ask('GET', '/passkeys', { token })).body, [])
  t.match(failure(await signInWith(ask, key)), [400, 'webauthn_verification_failed', /not registered here/])
  t.strictSame(await listSessions(), [{ id, name: null }, null], 'also once it was deleted')
  t.equal((await passwordGrant(ask, user.email)).status, 200, 'the other ways remain')
  const { rows } = await database.query(
    `select payload ->> 'action' as action, payload #>> '{traits,passkey_id}' as passkey from auth.audit_log_entries
     where payload ->> 'actor_id' = $1 and payload #>> '{traits,passkey_id}' is not null order by created_at`,
    [user.id],
  )
  t.strictSame(
    rows,
    ['passkey_created', 'login', 'passkey_updated', 'passkey_deleted'].map((action) => ({ action, passkey: id })),
  )
})

t.test('requests that are refused', async (t) => {
  const { token, passkeyId } = await member()
  const foreign = await member()
  const anonymous = sessionOf(await ask('POST', '/signup', { body: {} }))
  const path = `/passkeys/${passkeyId}`
  const foreignPath = `/passkeys/${foreign.passkeyId}`
  const credential = newKey().get({ challenge: 'x' })
  const unknown = { challenge_id: randomUUID(), credential }
  const long = 'n'.repeat(121)
  const rows: readonly (readonly [string, string, unknown, string | undefined, number, string, RegExp])[] = [
    ['POST', '/passkeys/registration/options', {}, undefined, 401, 'no_authorization', /Bearer/],
    ['POST', '/passkeys/registration/options', {}, anonymous.access_token, 403, 'no_authorization', /Anonymous/],
    ['POST', '/passkeys/registration/verify', unknown, anonymous.access_token, 403, 'no_authorization', /Anonymous/],
    ['POST', '/passkeys/registration/verify', {}, token, 400, 'validation_failed', /challenge_id is required/],
    ['POST', '/passkeys/registration/verify', unknown, token, 400, 'webauthn_challenge_not_found', /not found/],
    ['POST', '/passkeys/authentication/verify', {}, undefined, 400, 'validation_failed', /challenge_id is required/],
    [
      'POST',
      '/passkeys/authentication/verify',
      { challenge_id: 'x', credential },
      undefined,
      400,
      'validation_failed',
      /valid UUID/,
    ],
    [
      'POST',
      '/passkeys/authentication/verify',
      { challenge_id: randomUUID() },
      undefined,
      400,
      'validation_failed',
      /credential is required/,
    ],
    ['POST', '/passkeys/authentication/verify', unknown, undefined, 400, 'webauthn_challenge_not_found', /not found/],
    [
      'POST',
      '/passkeys/authentication/verify',
      { ...unknown, credential: { ...credential, id: 'not base64url!' } },
      undefined,
      400,
      'webauthn_challenge_not_found',
      /not found/,
    ],
    ['PATCH', path, {}, token, 400, 'validation_failed', /friendly_name is required/],
    ['PATCH', path, { friendly_name: long }, token, 400, 'validation_failed', /120 characters or less/],
    ['PATCH', path, { friendly_name: 'a\0b' }, token, 400, 'validation_failed', /NUL/],
    ['PATCH', '/passkeys/x', { friendly_name: 'n' }, token, 404, 'validation_failed', /passkey_id must be an UUID/],
    ['PATCH', foreignPath, { friendly_name: 'n' }, token, 404, 'validation_failed', /Passkey not found/],
    ['DELETE', foreignPath, undefined, token, 404, 'validation_failed', /Passkey not found/],
    ['DELETE', path, undefined, undefined, 401, 'no_authorization', /Bearer/],
    ['GET', '/passkeys', undefined, undefined, 401, 'no_authorization', /Bearer/],
  ]
  for (const [method, where, body, bearer, status, code, message] of rows) {
    const answer = await ask(method, where, { token: bearer, ...(body === undefined ? {} : { body }) })
    t.match(failure(answer), [status, code, message], `${method} ${where} ${JSON.stringify(body)}`)
  }
  t.equal((await signInWith(ask, foreign.key)).status, 200)
})

t.test('the administrator lists and deletes passkeys', async (t) => {
  const { id, passkeyId, key } = await member()
  const other = await member()
  const path = `/admin/users/${id}/passkeys`
  t.match((await ask('GET', path, { token: admin })).body, [{ id: passkeyId }])
  t.match(failure(await ask('GET', path, { token: other.token })), [403, 'not_admin'])
  t.match(failure(await ask('DELETE', `${path}/${passkeyId}`, { token: other.token })), [403, 'not_admin'])
  t.match(failure(await ask('DELETE', `${path}/${other.passkeyId}`, { token: admin })), [404, 'validation_failed'])
  const strangers = `/admin/users/${randomUUID()}/passkeys`
  t.match(failure(await ask('GET', strangers, { token: admin })), [404, 'user_not_found'])
  t.match(failure(await ask('DELETE', `${strangers}/${passkeyId}`, { token: admin })), [404, 'user_not_found'])
  t.equal((await ask('DELETE', `${path}/${passkeyId}`, { token: admin })).status, 204)
  t.equal(codeOf(await signInWith(ask, key)), 'webauthn_verification_failed')
})

t.test('new credentials that are not valid', async (t) => {
  const { access_token: token } = await signUp(ask)
  const lies: readonly (readonly [string, Lie, RegExp])[] = [
    ['another origin', { origin: 'https://shop.example.evil.example' }, /origin "https:\/\/shop\.example\.evil/],
    ['a subdomain that is not listed', { origin: 'https://other.shop.example' }, /origin/],
    ['http', { origin: 'http://app.shop.example' }, /origin/],
    ['another port', { origin: `${origin}:8443` }, /origin/],
    ['another site', { rpId: 'evil.example' }, /RP ID/i],
    ['another challenge', { challenge: randomBytes(32).toString('base64url') }, /challenge/],
    ['a signature', { type: 'webauthn.get' }, /type/],
    ['no user', { flags: 0x44 }, /[Uu]ser/],
    ['a user who was not verified', { flags: 0x41 }, /[Uu]ser verification/],
    ['no credential', { flags: 0x05 }, /./],
    ['an algorithm that was not offered', { algorithm: -47 }, /alg/],
    ['bytes that follow', { tail: Buffer.alloc(100) }, /./],
  ]
  for (const [label, lie, message] of lies) {
    const answer = await register(ask, token, newKey(), lie)
    t.match(failure(answer), [400, 'webauthn_verification_failed', message], label)
    t.match(answer.body.msg, /^Credential verification failed: /, label)
  }
  const large = { id: 'AA', response: { clientDataJSON: 'AA', attestationObject: 'A'.repeat(65_537) } }
  const tooLarge = await answerRegistration(ask, token, (await beginRegistration(ask, token)).challengeId, large)
  const code = 'webauthn_verification_failed'
  t.match(failure(tooLarge), [400, code, /credential\.response\.attestationObject/], 'its decoding would take long')
  const longId = new SoftAuthenticator({ origin, rpId, id: randomBytes(1024) })
  t.match(failure(await register(ask, token, longId)), [400, code, /credential\.id/])
  const { challengeId, options } = await beginRegistration(ask, token)
  const honest = newKey().create(options)
  const swapped = { ...honest, id: randomBytes(32).toString('base64url') }
  const answer = await answerRegistration(ask, token, challengeId, { ...swapped, rawId: swapped.id })
  t.match(failure(answer), [400, 'webauthn_verification_failed', /id is not that of the credential/])
  t.match(
    failure(await answerRegistration(ask, token, challengeId, honest)),
    [400, 'webauthn_challenge_not_found'],
    'a wrong answer uses the challenge up, too',
  )
  t.strictSame((await ask('GET', '/passkeys', { token })).body, [])
})

t.test('attestations are ignored, and nothing that they name is requested', async (t) => {
  const { access_token: token } = await signUp(ask)
  const key = newKey()
  const attestation = {
    fmt: 'packed',
    attStmt: new Map<string, unknown>([
      ['alg', -7],
      ['sig', new Uint8Array(64)],
      ['x5c', [new Uint8Array(300)]],
    ]),
  }
  t.equal((await register(ask, token, key, { attestation })).status, 200)
  t.equal((await signInWith(ask, key)).status, 200)
  const { rows } = await database.query(
    'select attestation_type, sign_count::int, transports from auth.webauthn_credentials where credential_id = $1',
    [key.id],
  )
  t.strictSame(rows, [{ attestation_type: 'none', sign_count: 1, transports: ['internal', 'hybrid'] }])
})

t.test('keys of all algorithms that are offered', async (t) => {
  for (const algorithm of ['ES256', 'EdDSA', 'RS256'] as const) {
    const { access_token: token, user } = await signUp(ask)
    const [key, other] = [1, 2].map(() => new SoftAuthenticator({ origin, rpId, algorithm })) as [
      SoftAuthenticator,
      SoftAuthenticator,
    ]
    t.equal((await register(ask, token, key)).status, 200, algorithm)
    t.equal(sessionOf(await signInWith(ask, key)).user.id, user.id, algorithm)
    const { challengeId, options } = await beginSignIn(ask)
    const [right, wrong] = [key.get(options), other.get(options)]
    const forged = { ...right, response: { ...right.response, signature: wrong.response.signature } }
    const answer = await answerSignIn(ask, challengeId, forged)
    t.match(failure(answer), [400, 'webauthn_verification_failed'], `${algorithm}: the signature of another key`)
  }
  // A key that is said to be for another algorithm than it is.
  const { access_token: token } = await signUp(ask)
  const rsa = new SoftAuthenticator({ origin, rpId, algorithm: 'RS256' })
  const confused = await register(ask, token, rsa, { algorithm: -7 })
  t.equal(confused.status === 200 ? (await signInWith(ask, rsa)).status : confused.status, 400)
})

t.test('attestations of other formats, credential ids of any length', async (t) => {
  const { access_token: token, user } = await signUp(ask)
  const remove = async () => database.query('delete from auth.webauthn_credentials where user_id = $1', [user.id])
  for (const fmt of ['packed', 'fido-u2f', 'tpm', 'android-key', 'apple', 'unheard-of']) {
    const key = newKey()
    t.equal((await register(ask, token, key, { attestation: { fmt, attStmt: new Map() } })).status, 200, fmt)
    t.equal((await signInWith(ask, key)).status, 200, fmt)
    await remove()
  }
  for (const length of [1, 2, 15, 17, 31, 33, 255, 256, 1023]) {
    const key = new SoftAuthenticator({ origin, rpId, id: randomBytes(length) })
    t.equal((await register(ask, token, key)).status, 200, `${length} bytes`)
    const { options } = await beginRegistration(ask, token)
    t.match(options.excludeCredentials, [{ id: key.id.toString('base64url') }], `${length} bytes`)
    t.equal((await signInWith(ask, key)).status, 200, `${length} bytes`)
    await remove()
  }
  const none = new SoftAuthenticator({ origin, rpId, id: Buffer.alloc(0) })
  t.equal((await register(ask, token, none)).status, 400, 'no id')
})

t.test('a passkey that can be copied stays one, and is one from the beginning', async (t) => {
  const [canBackUp, isBackedUp] = [0x08, 0x10]
  const [created, used] = [0x45, 0x05]
  const { access_token: token } = await signUp(ask)
  const stored = async (key: SoftAuthenticator) => {
    const { rows } = await database.query(
      'select backup_eligible as eligible, backed_up as backed from auth.webauthn_credentials where credential_id = $1',
      [key.id],
    )
    return rows[0] as unknown
  }
  const [synced, bound, impossible] = [newKey(), newKey(), newKey()]
  t.equal((await register(ask, token, synced, { flags: created | canBackUp })).status, 200)
  t.strictSame(await stored(synced), { eligible: true, backed: false })
  t.equal((await signInWith(ask, synced, { flags: used | canBackUp | isBackedUp })).status, 200)
  t.strictSame(await stored(synced), { eligible: true, backed: true })
  t.match(failure(await signInWith(ask, synced)), [400, 'webauthn_verification_failed', /has changed/])

  t.equal((await register(ask, token, bound)).status, 200)
  t.match(failure(await signInWith(ask, bound, { flags: used | canBackUp })), [400, 'webauthn_verification_failed'])
  t.equal((await signInWith(ask, bound)).status, 200)
  const answer = await register(ask, token, impossible, { flags: created | isBackedUp })
  t.match(failure(answer), [400, 'webauthn_verification_failed'], 'a copy of what cannot be copied')
})

t.test('a credential of the wrong form is a wrong answer, as in GoTrue', async (t) => {
  const { key, token } = await member()
  const { access_token: stranger } = await signUp(ask)
  const forms = [{}, { garbage: true }, [], 'x', 7, { id: 'not base64url!', response: { clientDataJSON: 'AA' } }]
  for (const form of forms) {
    const label = JSON.stringify(form)
    const signIn = await beginSignIn(ask)
    t.match(
      failure(await answerSignIn(ask, signIn.challengeId, form)),
      [400, 'webauthn_verification_failed', /credential/],
      label,
    )
    const late = await answerSignIn(ask, signIn.challengeId, key.get(signIn.options))
    t.equal(codeOf(late), 'webauthn_challenge_not_found', `${label} has used up the challenge`)
    const begun = await beginRegistration(ask, token)
    const foreign = await answerRegistration(ask, stranger, begun.challengeId, form)
    t.equal(codeOf(foreign), 'webauthn_challenge_not_found', label)
    const answer = await answerRegistration(ask, token, begun.challengeId, form)
    t.match(failure(answer), [400, 'webauthn_verification_failed', /credential/], label)
    t.equal(codeOf(await answerSignIn(ask, randomUUID(), form)), 'webauthn_challenge_not_found', label)
    const noId = await answerRegistration(ask, token, 'not-a-uuid', form)
    t.match(failure(noId), [400, 'validation_failed', /challenge_id must be a valid UUID/], label)
  }
})

t.test('challenges belong to one user and one purpose', async (t) => {
  const [ann, eve] = [await member(), await member()]
  const begun = await beginRegistration(ask, ann.token)
  const stolen = await answerRegistration(ask, eve.token, begun.challengeId, newKey().create(begun.options))
  t.match(failure(stolen), [400, 'webauthn_challenge_not_found'], "another user's challenge")
  const asSignIn = await answerSignIn(ask, begun.challengeId, ann.key.get(begun.options))
  t.match(failure(asSignIn), [400, 'webauthn_challenge_not_found'], 'that of a registration does not sign in')
  const right = await answerRegistration(ask, ann.token, begun.challengeId, newKey().create(begun.options))
  t.equal(right.status, 200, 'and is not used up by that')
  const signIn = await beginSignIn(ask)
  const asRegistration = await answerRegistration(
    ask,
    eve.token,
    signIn.challengeId,
    newKey().create({ ...begun.options, challenge: signIn.options.challenge }),
  )
  t.match(failure(asRegistration), [400, 'webauthn_challenge_not_found'], 'that of a sign-in does not register')
})

t.test("another user's credential is not added again", async (t) => {
  const ann = await member()
  const eve = await signUp(ask)
  t.match(failure(await register(ask, eve.access_token, ann.key)), [422, 'webauthn_credential_exists'])
  const { challengeId, options } = await beginSignIn(ask)
  const handle = Buffer.from(ann.id).toString('base64url')
  const session = await answerSignIn(ask, challengeId, ann.key.get(options, { userHandle: handle }))
  t.equal(sessionOf(session).user.id, ann.id)
})

t.test('signatures that are not valid', async (t) => {
  const [ann, eve] = [await member(), await member()]
  const handle = Buffer.from(ann.id).toString('base64url')
  const lies: readonly (readonly [string, Lie, RegExp])[] = [
    ['another origin', { origin: 'https://evil.example' }, /origin "https:\/\/evil\.example"/],
    ['a subdomain that is not listed', { origin: 'https://x.shop.example' }, /origin/],
    ['the origin with a slash', { origin: `${origin}/` }, /origin/],
    ['another site', { rpId: 'evil.example' }, /RP ID/i],
    ['another challenge', { challenge: randomBytes(32).toString('base64url') }, /challenge/],
    ['a registration', { type: 'webauthn.create' }, /type/],
    ['no user', { flags: 0x04 }, /[Uu]ser not present/],
    ['a user who was not verified', { flags: 0x01 }, /[Uu]ser verification/],
    ["another account's handle", { userHandle: Buffer.from(eve.id).toString('base64url') }, /userHandle/],
    ['no handle', { userHandle: '' }, /userHandle/],
  ]
  for (const [label, lie, message] of lies) {
    const answer = await signInWith(ask, ann.key, lie)
    t.match(failure(answer), [400, 'webauthn_verification_failed', message], label)
    t.notOk('access_token' in answer.body, label)
  }
  const forged: readonly (readonly [string, (credential: ReturnType<SoftAuthenticator['get']>) => unknown])[] = [
    [
      "another key's signature",
      (own) => ({
        ...own,
        response: { ...own.response, signature: eve.key.get({ challenge: 'x' }).response.signature },
      }),
    ],
    ['no signature', (own) => ({ ...own, response: { ...own.response, signature: undefined } })],
    ['an empty signature', (own) => ({ ...own, response: { ...own.response, signature: 'AA' } })],
    ['short authenticator data', (own) => ({ ...own, response: { ...own.response, authenticatorData: 'AAAA' } })],
    ['client data that are no JSON', (own) => ({ ...own, response: { ...own.response, clientDataJSON: 'AAAA' } })],
    ['another type', (own) => ({ ...own, type: 'password' })],
    ['another raw id', (own) => ({ ...own, rawId: eve.key.id.toString('base64url') })],
  ]
  for (const [label, change] of forged) {
    const { challengeId, options } = await beginSignIn(ask)
    const answer = await answerSignIn(ask, challengeId, change(ann.key.get(options)))
    t.match(failure(answer), [400, 'webauthn_verification_failed'], label)
  }
  // A key of Eve's that claims to be Ann's, with Ann's handle.
  const copy = new SoftAuthenticator({ origin, rpId, id: ann.key.id })
  t.match(failure(await signInWith(ask, copy, { userHandle: handle })), [400, 'webauthn_verification_failed'])
  const stranger = newKey()
  t.match(failure(await signInWith(ask, stranger, { userHandle: handle })), [
    400,
    'webauthn_verification_failed',
    /not registered here/,
  ])
  t.equal((await signInWith(ask, ann.key)).status, 200)
})

t.test('an answer is accepted once', async (t) => {
  const { key } = await member()
  const { challengeId, options } = await beginSignIn(ask)
  const answer = key.get(options)
  const statuses = (await Promise.all(Array.from({ length: 8 }, () => answerSignIn(ask, challengeId, answer)))).map(
    ({ status }) => status,
  )
  t.strictSame(statuses.sort(), [200, ...Array.from({ length: 7 }, () => 400)])
  const other = await beginSignIn(ask)
  t.match(failure(await answerSignIn(ask, other.challengeId, answer)), [
    400,
    'webauthn_verification_failed',
    /challenge/,
  ])
})

t.test('a challenge expires', async (t) => {
  const { key, token } = await member()
  const age = () => database.query("update auth.webauthn_challenges set expires_at = now() - interval '1 second'")
  const signIn = await beginSignIn(ask)
  const registration = await beginRegistration(ask, token)
  await age()
  t.match(failure(await answerSignIn(ask, signIn.challengeId, key.get(signIn.options))), [
    400,
    'webauthn_challenge_expired',
  ])
  const late = await answerRegistration(ask, token, registration.challengeId, newKey().create(registration.options))
  t.match(failure(late), [400, 'webauthn_challenge_expired'])
  await beginSignIn(ask)
  await database.query("update auth.webauthn_challenges set expires_at = now() - interval '2 hours'")
  await beginSignIn(ask)
  const { rows } = await database.query('select count(*)::int as number from auth.webauthn_challenges')
  t.strictSame(rows, [{ number: 1 }], 'challenges without an answer are deleted')
})

t.test('a counter that goes back is that of a copy', async (t) => {
  const { key } = await member()
  t.equal((await signInWith(ask, key, { signCount: 10 })).status, 200)
  for (const signCount of [10, 9, 0]) {
    const answer = await signInWith(ask, key, { signCount })
    t.match(failure(answer), [400, 'webauthn_verification_failed', /may have been copied/], String(signCount))
  }
  t.equal((await signInWith(ask, key, { signCount: 11 })).status, 200)
  const begun = await Promise.all(Array.from({ length: 6 }, () => beginSignIn(ask)))
  const answers = await Promise.all(
    begun.map(({ challengeId, options }) => answerSignIn(ask, challengeId, key.get(options, { signCount: 12 }))),
  )
  t.equal(answers.filter(({ status }) => status === 200).length, 1, 'one of several at the same time')
  const uncounted = await member(false)
  t.equal((await signInWith(ask, uncounted.key)).status, 200)
  t.equal((await signInWith(ask, uncounted.key)).status, 200, 'an authenticator that does not count')
})

t.test('the number of passkeys is limited, at the same time, too', async (t) => {
  const { access_token: token } = await signUp(ask)
  const begun = await Promise.all(Array.from({ length: 6 }, () => beginRegistration(ask, token)))
  const answers = await Promise.all(
    begun.map(({ challengeId, options }) => answerRegistration(ask, token, challengeId, newKey().create(options))),
  )
  t.equal(answers.filter(({ status }) => status === 200).length, 3)
  t.strictSame(new Set(answers.filter(({ status }) => status !== 200).map(codeOf)), new Set(['too_many_passkeys']))
  t.equal(codeOf(await ask('POST', '/passkeys/registration/options', { token, body: {} })), 'too_many_passkeys')
})

t.test('who may not sign in', async (t) => {
  const cases: readonly (readonly [string, string, string])[] = [
    ["banned_until = now() + interval '1 hour'", 'user_banned', 'banned'],
    ['email_confirmed_at = null', 'email_not_confirmed', 'without a confirmed address'],
    ["phone = '15550001111', phone_confirmed_at = null", 'phone_not_confirmed', 'without a confirmed phone number'],
  ]
  for (const [change, code, label] of cases) {
    const { id, key } = await member()
    await database.query(`update auth.users set email_unproven = false, ${change} where id = $1`, [id])
    t.match(failure(await signInWith(ask, key)), [403, code], label)
    const { rows } = await database.query(
      `select count(*)::int as number from auth.mfa_amr_claims join auth.sessions on sessions.id = session_id
       where user_id = $1 and authentication_method = 'passkey'`,
      [id],
    )
    t.strictSame(rows, [{ number: 0 }])
  }
  const { id, key } = await member()
  await ask('DELETE', `/admin/users/${id}`, { token: admin, body: { should_soft_delete: true } })
  t.match(failure(await signInWith(ask, key)), [400, 'webauthn_verification_failed', /not registered/])
  const { rows } = await database.query('select from auth.webauthn_credentials where user_id = $1', [id])
  t.equal(rows.length, 0, 'a soft deletion deletes passkeys')
  const sso = await signUp(ask)
  await database.query('update auth.users set is_sso_user = true where id = $1', [sso.user.id])
  const refused = await ask('POST', '/passkeys/registration/options', { token: sso.access_token, body: {} })
  t.match(failure(refused), [422, 'validation_failed', /SSO users/])
})

t.test('with a second factor, a session without it neither adds nor deletes passkeys', async (t) => {
  const { key, token, passkeyId } = await member()
  const early = await beginRegistration(ask, token)
  const { session } = await raise(ask, token)
  const low = sessionOf(await signInWith(ask, key))
  t.equal(claimsOf(low).aal, 'aal1', 'a passkey is no second factor')
  for (const [method, path] of [
    ['POST', '/passkeys/registration/options'],
    ['DELETE', `/passkeys/${passkeyId}`],
  ] as const) {
    const answer = await ask(method, path, { token: low.access_token, ...(method === 'POST' ? { body: {} } : {}) })
    t.match(failure(answer), [403, 'insufficient_aal'], path)
  }
  const late = await answerRegistration(ask, low.access_token, early.challengeId, newKey().create(early.options))
  t.match(failure(late), [403, 'insufficient_aal'], 'begun before the factor')
  const kept = await answerRegistration(ask, session.access_token, early.challengeId, newKey().create(early.options))
  t.equal(kept.status, 200, 'the refused request has not used up the challenge')
  t.equal((await register(ask, session.access_token, newKey())).status, 200)
  t.equal((await ask('DELETE', `/passkeys/${passkeyId}`, { token: session.access_token })).status, 204)
})

t.test('a session that has ended does not finish what it has begun', async (t) => {
  const { token } = await member()
  const begun = await beginRegistration(ask, token)
  await ask('POST', '/logout', { token })
  const late = await answerRegistration(ask, token, begun.challengeId, newKey().create(begun.options))
  t.match(failure(late), [403, 'session_not_found'])
})

t.test('passkeys are disabled by default', async (t) => {
  const { key, token, id, passkeyId } = await member()
  const begun = await beginSignIn(ask)
  await reload({ GOTRUE_PASSKEY_ENABLED: undefined })
  t.teardown(() => reload({ GOTRUE_PASSKEY_ENABLED: 'true' }))
  t.equal((await ask('GET', '/settings')).body.passkeys_enabled, false)
  const credential = key.get(begun.options)
  for (const [method, path, body] of [
    ['POST', '/passkeys/registration/options', {}],
    ['POST', '/passkeys/registration/verify', { challenge_id: begun.challengeId, credential }],
    ['POST', '/passkeys/authentication/options', {}],
    ['POST', '/passkeys/authentication/verify', { challenge_id: begun.challengeId, credential }],
    ['GET', '/passkeys', undefined],
    ['PATCH', `/passkeys/${passkeyId}`, { friendly_name: 'n' }],
    ['DELETE', `/passkeys/${passkeyId}`, undefined],
  ] as const) {
    const answer = await ask(method, path, { token, ...(body === undefined ? {} : { body }) })
    t.match(failure(answer), [404, 'passkey_disabled'], `${method} ${path}`)
  }
  t.match((await ask('GET', `/admin/users/${id}/passkeys`, { token: admin })).body, [{ id: passkeyId }])
})
