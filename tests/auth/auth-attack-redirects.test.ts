// No door of /auth/v1 leads a user to a page that the settings do not allow, wherever the link comes from.
import t from 'tap'
import { newAddress, password } from '../support/auth.ts'
import { startMailingService } from '../support/mailing-service.ts'
import { pkce } from '../support/oauth-client.ts'
import { signToken } from '../support/token.ts'

const site = 'https://app.test'
const { ask, sink, signInByMail } = await startMailingService(t, {
  GOTRUE_URI_ALLOW_LIST: 'https://*.preview.app.test/**,app.example://callback',
  ...{ GOTRUE_EXTERNAL_GITHUB_ENABLED: 'true', GOTRUE_EXTERNAL_GITHUB_CLIENT_ID: 'id' },
  ...{ GOTRUE_EXTERNAL_GITHUB_SECRET: 'secret', GOTRUE_SECURITY_MANUAL_LINKING_ENABLED: 'true' },
})
const admin = await signToken({ role: 'service_role' })

const allowed = ['https://app.test/deep?x=1#y', 'https://one.preview.app.test/page', 'app.example://callback']
const hostile = [
  'https://evil.example/',
  '//evil.example/',
  '/\\evil.example/',
  '\\\\evil.example/',
  'https:evil.example',
  'https:/evil.example',
  'https:///evil.example/',
  ' https://evil.example/',
  'https://app.test@evil.example/',
  'https://app.test:443@evil.example/',
  'https://user@app.test/',
  'https://app.test\\@evil.example/',
  'https://app.test.evil.example/',
  'https://app.test%2eevil.example/',
  'https://app.test%00.evil.example/',
  'https://app.test:444/',
  'http://app.test/',
  'https://аpp.test/',
  'https://app。test.evil.example/',
  'https://app.test/\r\nLocation: https://evil.example/',
  'https://evil.example#https://app.test/',
  'https://evil.example?https://app.test/',
  'https://evil.example/one.preview.app.test/',
  'https://evil.example?.preview.app.test/',
  'https://evil.example#.preview.app.test/',
  'https://evil.example\\.preview.app.test/',
  'https://one.preview.app.test.evil.example/',
  'https://a.b.preview.app.test/',
  'https://one.preview.app.test/../../evil',
  'javascript:alert(1)//https://app.test/',
  'JaVaScRiPt://app.test/%0aalert(1)',
  'data:text/html,<script>alert(1)</script>',
  'app.example://callback.evil',
  'https://2130706433/',
  'https://[::ffff:203.0.113.7]/',
  `https://evil.example/${'x'.repeat(4000)}`,
]

/** What a request says: its query, and its headers. */
type Sent = { readonly query: string; readonly headers: Record<string, string> }

const targetOf = (link: string): string | null => new URL(link).searchParams.get('redirect_to')

/** Where the mail of a request leads. */
const mailed = async (email: string, sending: Promise<{ readonly status: number; readonly text: string }>) => {
  const { status, text } = await sending
  if (status !== 200) throw new Error(text)
  return targetOf((await sink.next(email)).link)
}

/** Where a flow at a provider returns to: its page learns of the error of the provider. */
const returned = async (location: string | null) => {
  const state = new URL(location ?? '').searchParams.get('state') ?? ''
  const { headers } = await ask('GET', `/callback?error=access_denied&state=${state}`)
  return headers.get('location')?.replace(/[?&#](?:error=|sb=).*$/s, '')
}

const { access_token: token } = await signInByMail(newAddress())

/** The address of a new account. */
async function account(isConfirmed = true): Promise<string> {
  const email = newAddress()
  await ask('POST', '/admin/users', { body: { email, email_confirm: isConfirmed }, token: admin })
  return email
}

const { challenge } = pkce()

type Doors = Readonly<Record<string, (sent: Sent) => Promise<string | null | undefined>>>

/** Every way to name a page for the link of a mail, and where it leads. */
const mailDoors: Doors = {
  'sign-up': ({ query, headers }) => {
    const email = newAddress()
    return mailed(email, ask('POST', `/signup?${query}`, { body: { email, password }, headers }))
  },
  'link to sign in': async ({ query, headers }) => {
    const email = await account()
    return mailed(email, ask('POST', `/otp?${query}`, { body: { email }, headers }))
  },
  'link to sign in with PKCE': async ({ query, headers }) => {
    const email = await account()
    const body = { email, code_challenge: challenge, code_challenge_method: 's256' }
    return mailed(email, ask('POST', `/otp?${query}`, { body, headers }))
  },
  recovery: async ({ query, headers }) => {
    const email = await account()
    return mailed(email, ask('POST', `/recover?${query}`, { body: { email }, headers }))
  },
  'mail sent again': async ({ query, headers }) => {
    const email = await account(false)
    return mailed(email, ask('POST', `/resend?${query}`, { body: { email, type: 'signup' }, headers }))
  },
  'change of address': ({ query, headers }) => {
    const email = newAddress()
    return mailed(email, ask('PUT', `/user?${query}`, { body: { email }, token, headers }))
  },
  invitation: ({ query, headers }) => {
    const email = newAddress()
    return mailed(email, ask('POST', `/invite?${query}`, { body: { email }, token: admin, headers }))
  },
}

/** The ways without a mail. */
const pageDoors: Doors = {
  'generated link': async ({ query, headers }) => {
    const body = { type: 'magiclink', email: await account() }
    const answer = await ask('POST', `/admin/generate_link?${query}`, { body, token: admin, headers })
    return targetOf(String(answer.body.action_link))
  },
  'generated link, in the body': async ({ query, headers }) => {
    const redirect_to = new URLSearchParams(query).get('redirect_to')
    const body = { type: 'magiclink', email: await account(), redirect_to }
    const answer = await ask('POST', '/admin/generate_link', { body, token: admin, headers })
    return targetOf(String(answer.body.action_link))
  },
  'link that is not valid': async ({ query, headers }) => {
    const answer = await ask('GET', `/verify?type=signup&token=unknown&${query}`, { headers })
    return answer.headers.get('location')?.replace(/[?&#](?:error=|sb=).*$/s, '')
  },
  'link that is valid': async ({ query, headers }) => {
    const body = { type: 'magiclink', email: await account() }
    const { hashed_token: hash } = (await ask('POST', '/admin/generate_link', { body, token: admin })).body
    const answer = await ask('GET', `/verify?type=magiclink&token=${String(hash)}&${query}`, { headers })
    const location = answer.headers.get('location') ?? ''
    if (!location.includes('access_token=')) throw new Error(location)
    return location.replace(/#.*$/s, '')
  },
  provider: async ({ query, headers }) => {
    const answer = await ask('GET', `/authorize?provider=github&${query}`, { headers })
    return returned(answer.headers.get('location'))
  },
  'identity that is linked': async ({ query, headers }) => {
    const path = `/user/identities/authorize?provider=github&skip_http_redirect=true&${query}`
    return returned(String((await ask('GET', path, { token, headers })).body.url))
  },
}

const named = (target: string): Sent => ({ query: `redirect_to=${encodeURIComponent(target)}`, headers: {} })

/** Without the fragment, which these pages replace, and with the path that a query needs. */
const page = (target: string | null | undefined): string => new URL(target ?? '').href.replace(/#.*$/s, '')

for (const [name, door] of Object.entries({ ...mailDoors, ...pageDoors })) {
  // A mail takes its time: these doors are tried with every fourth target.
  const targets = name in mailDoors ? hostile.filter((_, index) => index % 4 === 0) : hostile
  void t.test(name, async (t) => {
    const leads = async (sent: Sent, expected: string, label: string): Promise<void> => {
      t.equal(page(await door(sent)), page(expected), label)
    }
    const first = `redirect_to=${encodeURIComponent('https://evil.example/')}`
    const second = `redirect_to=${encodeURIComponent(site)}`
    for (const target of allowed) await leads(named(target), target, target)
    for (const target of targets) await leads(named(target), site, target.slice(0, 80))
    await leads({ query: '', headers: { Referer: 'https://evil.example/' } }, site, 'the page that sends it')
    for (const query of [`${first}&${second}`, `${second}&${first}`]) {
      await leads({ query, headers: {} }, site, 'given twice')
    }
  })
}

t.test('a callback without a flow leads to the site', async (t) => {
  for (const target of hostile) {
    const query = `redirect_to=${encodeURIComponent(target)}&referrer=${encodeURIComponent(target)}`
    const { headers } = await ask('GET', `/callback?${query}`, { headers: { Referer: 'https://evil.example/' } })
    t.ok(headers.get('location')?.startsWith(`${site}/?error=`), target.slice(0, 80))
  }
})
