// /auth/signup asks for no proof of the address. The owner who proves it later gets the account without its former ways in.
import t, { type Test } from 'tap'
import { password, signUp, type SignedIn } from '../support/account.ts'
import { codeOf, newAddress, passwordGrant, refreshGrant } from '../support/auth.ts'
import { cookieSettings, startMailingService } from '../support/mailing-service.ts'
import { signToken } from '../support/token.ts'

t.setTimeout(600_000)
const { ask, call, database, sink } = await startMailingService(t, {
  ...cookieSettings,
  AUTH_ADDRESS_LIMIT: '100000',
})
const token = await signToken({ role: 'service_role' })

type Tokens = { readonly access_token: string; readonly refresh_token: string }

/** The owner of an address signs in by a mail, and gets a session. */
const proofs: Readonly<Record<string, (email: string) => Promise<Tokens>>> = {
  'a magic link': async (email) => {
    await ask('POST', '/otp', { body: { email } })
    const { headers } = await fetch((await sink.next(email)).link, { redirect: 'manual' })
    const fragment = new URL(headers.get('location') ?? '').hash.slice(1)
    return Object.fromEntries(new URLSearchParams(fragment)) as Tokens
  },
  'a code': async (email) => {
    await ask('POST', '/otp', { body: { email } })
    const { code } = await sink.next(email)
    return (await ask('POST', '/verify', { body: { type: 'email', email, token: code } })).body as Tokens
  },
  'a forgotten password': async (email) => {
    await ask('POST', '/recover', { body: { email } })
    const { code } = await sink.next(email)
    return (await ask('POST', '/verify', { body: { type: 'recovery', email, token: code } })).body as Tokens
  },
  PKCE: async (email) => {
    const challenge = { code_challenge: 'v'.repeat(43), code_challenge_method: 'plain' }
    await ask('POST', '/otp', { body: { email, ...challenge } })
    const { headers } = await fetch((await sink.next(email)).link, { redirect: 'manual' })
    const code = new URL(headers.get('location') ?? '').searchParams.get('code')
    const body = { auth_code: code, code_verifier: 'v'.repeat(43) }
    return (await ask('POST', '/token?grant_type=pkce', { body })).body as Tokens
  },
  'a generated link': async (email) => {
    const { body } = await ask('POST', '/admin/generate_link', { body: { type: 'magiclink', email }, token })
    const hash = body.hashed_token
    return (await ask('POST', '/verify', { body: { type: 'magiclink', token_hash: hash } })).body as Tokens
  },
}

/** Checks that no credentials of the user who signed up are valid any more. */
async function isOut(t: Test, mallory: SignedIn, tokens: Tokens, email: string): Promise<void> {
  t.equal((await mallory.call('GET', '/auth/me')).status, 401, 'the cookie')
  t.equal((await mallory.call('POST', '/auth/tokens')).status, 401)
  t.equal((await call('POST', '/auth/signin', { body: { email, password } })).status, 401, 'the password')
  t.equal(codeOf(await passwordGrant(ask, email, password)), 'invalid_credentials')
  t.equal((await ask('GET', '/user', { token: tokens.access_token })).status, 403, 'the access token')
  const refresh = await refreshGrant(ask, tokens.refresh_token)
  t.equal(refresh.status, 400, 'the refresh token')
}

for (const [name, prove] of Object.entries(proofs)) {
  void t.test(`the owner of the address signs in by ${name}`, async (t) => {
    const email = newAddress()
    const mallory = await signUp(call, email)
    const tokens = ((await mallory.call('POST', '/auth/tokens')).body as { details: Tokens }).details
    await database.query('update auth.users set phone = $1, phone_confirmed_at = now() where id = $2', [
      mallory.id.replace(/\D/g, '').slice(0, 12),
      mallory.id,
    ])
    const session = await prove(email)
    const user = await ask('GET', '/user', { token: session.access_token })
    t.match(user.body, { id: mallory.id, email, phone: '', app_metadata: { providers: ['email'] } }, user.text)
    await isOut(t, mallory, tokens, email)

    const secret = 'the password of the owner'
    t.equal((await ask('PUT', '/user', { body: { password: secret }, token: session.access_token })).status, 200)
    t.equal((await passwordGrant(ask, email, secret)).status, 200)
    await prove(email)
    t.equal((await passwordGrant(ask, email, secret)).status, 200, 'the second proof changes nothing')
    t.equal((await ask('GET', '/user', { token: session.access_token })).status, 200)
  })
}

t.test('an address that was changed with the cookie is not proved, either', async (t) => {
  const mallory = await signUp(call, newAddress())
  await proofs['a forgotten password']?.(mallory.email).then(({ access_token: own }) =>
    ask('PUT', '/user', { body: { password }, token: own }),
  )
  const again = await call('POST', '/auth/signin', { body: { email: mallory.email, password } })
  t.equal(again.status, 200)
  const headers = { Cookie: again.cookie ?? '' }
  const email = newAddress()
  const change = await call('PATCH', '/auth/me', { headers, body: { currentPassword: password, email } })
  t.equal(change.status, 200, change.text)
  await proofs['a code']?.(email)
  t.equal((await call('GET', '/auth/me', { headers })).status, 401)
  t.equal(codeOf(await passwordGrant(ask, email, password)), 'invalid_credentials')
})

t.test('a change of the password alone leaves a proved address proved', async (t) => {
  const owner = await signUp(call, newAddress())
  const session = await proofs['a code']?.(owner.email)
  await ask('PUT', '/user', { body: { password }, token: session?.access_token })
  const { cookie = '' } = await call('POST', '/auth/signin', { body: { email: owner.email, password } })
  const body = { currentPassword: password, password: 'another password' }
  t.equal((await call('PATCH', '/auth/me', { headers: { Cookie: cookie }, body })).status, 200)
  await proofs['a code']?.(owner.email)
  t.equal((await passwordGrant(ask, owner.email, 'another password')).status, 200)
})
