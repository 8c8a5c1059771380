// The page on which people grant an application access to their account.
import { createHash, randomBytes } from 'node:crypto'
import type { Page } from 'puppeteer-core'
import t from 'tap'
import { askAuth, newAddress, password, signUp } from '../support/auth.ts'
import { startConsoleServer } from '../support/console.ts'
import { listen } from '../support/listening.ts'
import { signToken } from '../support/token.ts'
import { fill, launchBrowser, press, shows } from './support/browser.ts'

const [browser, server] = await Promise.all([
  launchBrowser(t),
  startConsoleServer(t, {
    GOTRUE_MAILER_AUTOCONFIRM: 'true',
    GOTRUE_OAUTH_SERVER_ENABLED: 'true',
    GOTRUE_OAUTH_SERVER_AUTHORIZATION_PATH: '/console/consent',
  }),
])
const { url } = server
// The port is chosen only now.
await server.reload({ API_EXTERNAL_URL: `${url}/auth/v1`, GOTRUE_SITE_URL: url })
const ask = askAuth(url)

/** The addresses at which the browser has returned to the application. */
const returned: string[] = []
const application = await listen(t, (request, response) => {
  if (request.url?.startsWith('/callback') === true) returned.push(request.url)
  response.setHeader('Content-Type', 'text/html')
  response.end('<p>back at the application')
})
const hostileName = '<img src=x onerror=alert(1)> Calendar'
const registered = await ask('POST', '/admin/oauth/clients', {
  token: await signToken({ role: 'service_role' }),
  body: {
    client_name: hostileName,
    redirect_uris: [`${application}/callback`],
    token_endpoint_auth_method: 'client_secret_post',
  },
})

const verifier = randomBytes(32).toString('base64url')

/** What the application opens. */
const authorize = (): string => {
  const query = new URLSearchParams({
    client_id: String(registered.body.client_id),
    redirect_uri: `${application}/callback`,
    response_type: 'code',
    scope: 'email profile',
    state: 'the state',
    code_challenge: createHash('sha256').update(verifier).digest('base64url'),
    code_challenge_method: 'S256',
  })
  return `${url}/auth/v1/oauth/authorize?${query.toString()}`
}

type Opened = { readonly page: Page; readonly faults: readonly string[] }

async function open(address: string): Promise<Opened> {
  const page = await (await browser.createBrowserContext()).newPage()
  page.setDefaultTimeout(60_000)
  await page.setViewport({ width: 900, height: 800 })
  const faults: string[] = []
  page.on('pageerror', (error) => faults.push(String(error)))
  page.on('dialog', (dialog) => {
    faults.push(`dialog: ${dialog.message()}`)
    void dialog.dismiss()
  })
  page.on('console', (message) => {
    if (/Content Security Policy|Trusted/.test(message.text())) faults.push(message.text())
  })
  await page.goto(address)
  return { page, faults }
}

async function signIn(page: Page, email: string): Promise<void> {
  await fill(page, 'E-mail', email)
  await fill(page, 'Password', password)
  await press(page, 'Sign in', 'form')
}

t.test('a person signs in, sees who asks for what, and approves', async (t) => {
  const email = newAddress()
  const user = await signUp(ask, email)
  const { page, faults } = await open(authorize())
  t.match(page.url(), `${url}/console/consent?authorization_id=`)
  await signIn(page, email)
  t.ok(await shows(page, 'Grant access to your account?', 'h1'))
  t.ok(await shows(page, hostileName), 'the name is a text')
  t.ok(await shows(page, new URL(application).host))
  t.ok(await shows(page, email))
  t.ok(await shows(page, 'your e-mail address, your name and picture'))
  await press(page, 'Approve')
  t.ok(await shows(page, 'back at the application'))
  const back = new URL(returned.at(-1) ?? '', application)
  t.equal(back.searchParams.get('state'), 'the state')
  const exchanged = await ask('POST', '/oauth/token', {
    body: {
      grant_type: 'authorization_code',
      client_id: registered.body.client_id,
      client_secret: registered.body.client_secret,
      code: back.searchParams.get('code'),
      code_verifier: verifier,
      redirect_uri: `${application}/callback`,
    },
  })
  t.equal(exchanged.status, 200)
  t.match(await ask('GET', '/user', { token: String(exchanged.body.access_token) }), { body: { id: user.user.id } })
  t.strictSame(faults, [])

  const again = await open(authorize())
  await signIn(again.page, email)
  t.ok(await shows(again.page, 'back at the application'), 'the same is not asked again')
})

t.test('a person denies', async (t) => {
  const email = newAddress()
  await signUp(ask, email)
  const { page, faults } = await open(authorize())
  await signIn(page, email)
  t.ok(await shows(page, 'Grant access'))
  await press(page, 'Deny')
  t.ok(await shows(page, 'back at the application'))
  t.match(returned.at(-1), /error=access_denied/)
  t.strictSame(faults, [])
})

t.test('a wrong password, an unknown request and one of another person say so', async (t) => {
  const [email, other] = [newAddress(), newAddress()]
  await Promise.all([signUp(ask, email), signUp(ask, other)])
  const { page } = await open(`${url}/console/consent`)
  t.ok(await shows(page, 'no authorization_id'))
  const unknown = await open(`${url}/console/consent?authorization_id=unknown`)
  await fill(unknown.page, 'E-mail', email)
  await fill(unknown.page, 'Password', 'wrong password')
  await press(unknown.page, 'Sign in', 'form')
  t.ok(await shows(unknown.page, 'Invalid login credentials'))
  await signIn(unknown.page, email)
  t.ok(await shows(unknown.page, 'Begin again in the application.'))
  const first = await open(authorize())
  const address = first.page.url()
  await signIn(first.page, email)
  t.ok(await shows(first.page, 'Grant access'))
  const second = await open(address)
  await signIn(second.page, other)
  t.ok(await shows(second.page, 'Begin again in the application.'))
  t.notOk(await second.page.$('strong'), 'nothing of the request is shown')
})
