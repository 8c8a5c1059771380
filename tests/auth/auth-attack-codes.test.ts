// Attacks on codes, links and PKCE, and on what responses and mails reveal.
import { createHash, randomBytes } from 'node:crypto'
import t from 'tap'
import { HashProcesses } from '../../server/services/accounts/hash-processes.ts'
import { codeOf, newAddress, password, sessionOf, type AuthAnswer, type Json } from '../support/auth.ts'
import { cookieSettings, startMailingService } from '../support/mailing-service.ts'
import { signToken } from '../support/token.ts'

const { ask, call, database, logged, sink, startAnother } = await startMailingService(t, cookieSettings)
const serviceToken = await signToken({ role: 'service_role' })

const post = (path: string, body: Json): Promise<AuthAnswer> => ask('POST', path, { body })

/** An account with a confirmed address. */
async function confirmed(): Promise<string> {
  const email = newAddress()
  const created = await ask('POST', '/admin/users', {
    token: serviceToken,
    body: { email, password, email_confirm: true },
  })
  if (created.status !== 200) throw new Error(created.text)
  return email
}

const newPair = () => {
  const verifier = randomBytes(32).toString('base64url')
  return { verifier, challenge: createHash('sha256').update(verifier).digest('base64url') }
}

/** Asks for a link of PKCE, follows it, and returns the code that the page gets. */
async function authCode(email: string, path: '/recover' | '/otp', pair: Json): Promise<string> {
  const asked = await post(path, { email, ...pair })
  if (asked.status !== 200) throw new Error(asked.text)
  const { link } = await sink.next(email)
  const response = await fetch(link.replaceAll('&amp;', '&'), { redirect: 'manual' })
  return new URL(response.headers.get('location') ?? 'about:blank').searchParams.get('code') ?? ''
}

/** The token of a link. */
const tokenIn = (link: string): string => new URL(link.replaceAll('&amp;', '&')).searchParams.get('token') ?? ''

const exchange = (code: string, verifier: string) =>
  post('/token?grant_type=pkce', { auth_code: code, code_verifier: verifier })

t.test('a change of the password ends codes of PKCE, at both doors', async (t) => {
  for (const door of ['tokens', 'cookie', 'admin'] as const) {
    const email = await confirmed()
    const { verifier, challenge } = newPair()
    const code = await authCode(email, '/recover', { code_challenge: challenge, code_challenge_method: 's256' })
    t.match(code, /^[0-9a-f-]{36}$/)
    const session = sessionOf(await post('/token?grant_type=password', { email, password }))
    const changed = { password: 'battery staple' }
    if (door === 'tokens') {
      t.equal((await ask('PUT', '/user', { token: session.access_token, body: changed })).status, 200)
    } else if (door === 'admin') {
      const path = `/admin/users/${session.user.id}`
      t.equal((await ask('PUT', path, { token: serviceToken, body: changed })).status, 200)
    } else {
      const { cookie = '' } = await call('POST', '/auth/signin', { body: { email, password } })
      const body = { ...changed, currentPassword: password }
      t.equal((await call('PATCH', '/auth/me', { headers: { Cookie: cookie }, body })).status, 200)
    }
    t.match(await exchange(code, verifier), { status: 404, body: { error_code: 'flow_state_not_found' } }, door)
  }
})

t.test('exchanges of codes while the password changes do not deadlock', async (t) => {
  const email = await confirmed()
  const { verifier, challenge } = newPair()
  let current = password
  for (let round = 0; round < 5; round++) {
    const code = await authCode(email, '/otp', { code_challenge: challenge, code_challenge_method: 's256' })
    const session = sessionOf(await post('/token?grant_type=password', { email, password: current }))
    const next = `battery staple ${round}`
    const [changed, exchanged] = await Promise.all([
      ask('PUT', '/user', { token: session.access_token, body: { password: next } }),
      exchange(code, verifier),
    ])
    t.equal(changed.status, 200, changed.text)
    t.match(exchanged.status, /^(?:200|404)$/)
    if (exchanged.status === 200) {
      const { access_token: token } = sessionOf(exchanged)
      const rows = await database.query(
        'select from auth.sessions join auth.users on users.id = user_id where email = $1',
        [email],
      )
      t.ok(rows.rows.length <= 2 && token !== '')
    }
    current = next
  }
})

t.test('PKCE is not weakened, nor mixed up', async (t) => {
  const email = await confirmed()
  const one = newPair()
  const other = newPair()
  const s256 = { code_challenge: one.challenge, code_challenge_method: 's256' }
  const code = await authCode(email, '/otp', s256)
  const strangers = await authCode(await confirmed(), '/otp', {
    code_challenge: other.challenge,
    code_challenge_method: 'S256',
  })
  for (const [label, auth, verifier, status, error] of [
    ['no verifier', code, '', 400, 'validation_failed'],
    ['the verifier of another flow', code, other.verifier, 400, 'bad_code_verifier'],
    ['the challenge as the verifier', code, one.challenge, 400, 'bad_code_verifier'],
    ['the code of another flow', strangers, one.verifier, 400, 'bad_code_verifier'],
    ['no such code', '11111111-2222-4333-8444-555555555555', one.verifier, 404, 'flow_state_not_found'],
    ['SQL', "' or 1=1 --", one.verifier, 404, 'flow_state_not_found'],
    ['NUL', 'a\0', one.verifier, 400, 'validation_failed'],
  ] as const) {
    t.match(await exchange(auth, verifier), { status, body: { error_code: error } }, label)
  }
  const answers = await Promise.all(Array.from({ length: 20 }, () => exchange(code, one.verifier)))
  t.equal(answers.filter(({ status }) => status === 200).length, 1, 'once')
  t.strictSame(new Set(answers.filter(({ status }) => status !== 200).map(codeOf)), new Set(['flow_state_not_found']))
  for (const challenge of [
    { code_challenge: one.challenge },
    { code_challenge_method: 'plain' },
    { code_challenge: one.challenge, code_challenge_method: 'none' },
    { code_challenge: 'short', code_challenge_method: 'plain' },
    { code_challenge: 'x'.repeat(129), code_challenge_method: 's256' },
  ]) {
    t.match(await post('/otp', { email, ...challenge }), { status: 400, body: { error_code: 'validation_failed' } })
  }
})

/** Of codes that are wrong, or too many. */
const refusals = new Set(['otp_expired', 'over_request_rate_limit'])

t.test('a code serves its purpose, its address, and once', async (t) => {
  const email = await confirmed()
  await post('/recover', { email })
  const { code, link } = await sink.next(email)
  const hash = tokenIn(link)
  const other = await confirmed()
  for (const type of ['signup', 'invite', 'email_change']) {
    t.match(
      await post('/verify', { type, email, token: code }),
      { status: 403, body: { error_code: 'otp_expired' } },
      type,
    )
  }
  t.match(await post('/verify', { type: 'recovery', email: other, token: code }), { status: 403 })
  t.match(await post('/verify', { type: 'reauthentication', email, token: code }), { status: /^4/ })
  for (const [type, token_hash] of [
    ['signup', hash],
    ['email_change', hash],
    ['recovery', hash.toUpperCase()],
    ['recovery', `pkce_${hash}`],
    ['reauthentication', hash],
  ] as const) {
    t.match(await post('/verify', { type, token_hash }), { status: /^40[03]$/ }, `${type} ${token_hash.slice(0, 6)}`)
  }
  const answers = await Promise.all([
    ...Array.from({ length: 25 }, () => post('/verify', { type: 'recovery', email, token: code })),
    ...Array.from({ length: 25 }, () => post('/verify', { type: 'recovery', token_hash: hash })),
  ])
  t.equal(answers.filter(({ status }) => status === 200).length, 1)
  t.strictSame(new Set(answers.filter(({ status }) => status !== 200).map(codeOf)), refusals)
})

t.test('neither the address nor the code reveals the token of a link, and the database neither', async (t) => {
  const pair = { code_challenge: newPair().challenge, code_challenge_method: 's256' }
  const links = new Set<string>()
  for (const more of [{}, pair]) {
    const email = await confirmed()
    await post('/recover', { email, ...more })
    const { code, link } = await sink.next(email)
    const token = tokenIn(link)
    t.match(token, 'code_challenge' in more ? /^pkce_[0-9a-f]{56}$/ : /^[0-9a-f]{56}$/)
    links.add(token)
    const digests = ['sha224', 'sha256', 'md5'].flatMap((kind) =>
      [email + code, `${email} ${code}`, code].map((text) => createHash(kind).update(text).digest('hex')),
    )
    for (const digest of digests) {
      for (const guess of [digest, `pkce_${digest}`]) {
        t.equal((await post('/verify', { type: 'recovery', token_hash: guess })).status, 403)
      }
    }
    const { rows } = await database.query(
      `select to_json(one_time_tokens)::text || to_json(users)::text as row, token_hash, code_hash,
         recovery_token as column
       from auth.one_time_tokens join auth.users on users.id = user_id where relates_to = $1`,
      [email],
    )
    t.match(rows, [{ token_hash: /^[0-9a-f]{64}$/, code_hash: /^[0-9a-f]{64}$/, column: /^[0-9a-f]{64}$/ }])
    const [row, stored, storedCode] = ['row', 'token_hash', 'code_hash'].map((name) => String(rows[0]?.[name]))
    for (const secret of [token.replace('pkce_', ''), `"${code}"`, ...digests]) t.notOk(row?.includes(secret), secret)
    for (const guess of [stored, storedCode, `pkce_${stored}`]) {
      t.equal((await post('/verify', { type: 'recovery', token_hash: guess })).status, 403, 'a stored hash is no token')
      t.equal((await post('/verify', { type: 'recovery', email, token: guess })).status, 403)
    }
    await database.query('update auth.one_time_tokens set wrong_tries = 0')
    t.equal((await post('/verify', { type: 'recovery', email, token: code })).status, 200)
  }
  t.equal(links.size, 2)
})

t.test('equal codes of two addresses have different hashes, and a code of one is none of the other', async (t) => {
  const hashes = await database.query(
    `select distinct auth.code_hash(address, 'the same') as hash from unnest('{a@example.org,b@example.org}'::text[]) as address`,
  )
  t.equal(hashes.rows.length, 2)
})

t.test('a code is valid in another process, and after a change of the keys that keeps the old one', async (t) => {
  const keyOf = (text: string, kid: string, more: Json = {}): Json => ({
    ...{ kty: 'oct', kid, alg: 'HS256', k: Buffer.from(text.repeat(32)).toString('base64url'), ...more },
  })
  const withKeys = (...keys: readonly Json[]) => ({ GOTRUE_JWT_KEYS: JSON.stringify(keys) })
  const old = await startAnother(withKeys(keyOf('o', 'old', { key_ops: ['sign', 'verify'] })))
  const both = await startAnother(
    withKeys(keyOf('n', 'new', { key_ops: ['sign', 'verify'] }), keyOf('o', 'old', { key_ops: ['verify'] })),
  )
  const onlyNew = await startAnother({
    ...withKeys(keyOf('n', 'new', { key_ops: ['sign', 'verify'] })),
    PGRST_JWT_SECRET: 'another secret of more than 32 characters',
  })
  for (const [process, status] of [
    [both, 200],
    [onlyNew, 403],
  ] as const) {
    const email = await confirmed()
    await old.ask('POST', '/otp', { body: { email } })
    const { code } = await sink.next(email)
    const used = await process.ask('POST', '/verify', { body: { type: 'email', email, token: code } })
    t.equal(used.status, status, used.text)
  }
})

t.test('fifty guesses at once are five', async (t) => {
  const email = await confirmed()
  await post('/otp', { email })
  const { code } = await sink.next(email)
  const wrong = code === '000000' ? '000001' : '000000'
  const guesses = Array.from({ length: 50 }, () => post('/verify', { type: 'email', email, token: wrong }))
  t.strictSame(new Set((await Promise.all(guesses)).map(codeOf)), refusals)
  const { rows } = await database.query('select wrong_tries from auth.one_time_tokens where relates_to = $1', [email])
  t.strictSame(rows, [{ wrong_tries: 5 }])
  await database.query('delete from rowhouse_limits.buckets')
  // Another process does not remember that the account is blocked for the network.
  const { ask: askAnother } = await startAnother()
  const late = await askAnother('POST', '/verify', { body: { type: 'email', email, token: code } })
  t.equal(late.status, 403, 'the right one comes too late')
})

t.test('when no more mails may be sent, strangers are refused like users', async (t) => {
  const email = await confirmed()
  const { ask: askLimited } = await startAnother({ GOTRUE_RATE_LIMIT_EMAIL_SENT: '2/1h' })
  for (let i = 0; i < 2; i++) await askLimited('POST', '/recover', { body: { email } })
  for (const path of ['/recover', '/resend']) {
    // An account that has not confirmed its address is one for /resend.
    const body = path === '/resend' ? { type: 'signup' } : {}
    const answers = []
    for (const address of [newAddress(), email]) {
      const answer = await askLimited('POST', path, { body: { ...body, email: address } })
      answers.push([answer.status, codeOf(answer), answer.headers.has('retry-after'), String(answer.body.msg)])
    }
    t.strictSame(answers[0], answers[1], path)
    t.match(answers[0], [429, 'over_email_send_rate_limit', true, /GOTRUE_RATE_LIMIT_EMAIL_SENT/])
  }
})

t.test('an account is not revealed by the work of a wrong password', async (t) => {
  // Without it, an attempt for a stranger takes a tenth of the time.
  const verify = Reflect.get(HashProcesses.prototype, 'verify')
  const verifying = t.capture(HashProcesses.prototype, 'verify', verify)
  for (const address of [await confirmed(), newAddress()]) {
    const { status } = await post('/token?grant_type=password', { email: address, password: 'wrong password' })
    t.equal(status, 400)
    t.equal(verifying().length, 1)
  }
})

t.test('mails carry no markup and no headers of a user', async (t) => {
  const email = newAddress()
  const evil = '"><script>alert(1)</script>\r\nBcc: victim@example.org\r\n\r\n{{ .Token }}'
  const target = 'https://app.test/"><img src=x onerror=alert(1)>'
  const asked = await ask('POST', `/otp?redirect_to=${encodeURIComponent(target)}`, {
    body: { email, data: { name: evil, full_name: evil, first_name: evil } },
    headers: { Referer: 'https://evil.test/"><script>', 'X-Forwarded-Host': 'evil.test', Host: 'evil.test' },
  })
  t.equal(asked.status, 200)
  const { text, link } = await sink.next(email)
  t.notMatch(text, /<script|<img|onerror|^Bcc:/im)
  t.notMatch(link, /evil\.test/)
  t.match(link, /redirect_to=https:\/\/app\.test(?:&|$)/)
  const unknown = await fetch(
    link.replaceAll('&amp;', '&').replace(/redirect_to=.*/, 'redirect_to=https://evil.test/'),
    {
      redirect: 'manual',
    },
  )
  t.match(unknown.headers.get('location'), /^https:\/\/app\.test[/#?]/, 'the link itself is no open redirect')
})

t.test('neither responses nor the log contain secrets', async (t) => {
  const email = await confirmed()
  await post('/otp', { email })
  const { code, link } = await sink.next(email)
  const hash = tokenIn(link)
  const session = sessionOf(await post('/verify', { type: 'email', email, token: code }))
  await ask('GET', `/verify?type=magiclink&token=${hash}`)
  await ask('GET', `/callback?code=${hash}&state=${hash}`)
  await post('/token?grant_type=password', { email, password: `${password} but wrong` })
  await post('/token?grant_type=refresh_token', { refresh_token: session.refresh_token })
  await ask('POST', '/signup', { text: `{"email": "${email}", "password": "${password}` })
  const log = JSON.stringify(logged())
  t.match(log, /auth\/v1\/verify/, 'requests are logged')
  for (const secret of [hash, password, session.refresh_token, session.access_token, link]) {
    t.notOk(log.includes(secret), secret.slice(0, 12))
  }
  t.notMatch(log, new RegExp(`\\D${code}\\D`))
})
