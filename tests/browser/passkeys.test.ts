// Passkeys and security keys of auth-js, unmodified, in Chromium with virtual authenticators, on pages of another origin than the
// server's.
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'
import type { CDPSession, Page } from 'puppeteer-core'
import t from 'tap'
import { createApiKey } from '../../server/identity/api-key/api-key.ts'
import { startApplication } from '../support/application.ts'
import { newAddress, password } from '../support/auth.ts'
import { createMigratedDatabase, withClient } from '../support/database.ts'
import { launchBrowser } from './support/browser.ts'

const database = await createMigratedDatabase()
t.teardown(() => database.drop())

/** Files of the site by their paths. */
const files = new Map([['/', '<!doctype html><title>Site</title><script type="module" src="/app.js"></script>']])

/** A site on a port of its own. @returns its origin */
async function startSite(): Promise<string> {
  const site = createServer(({ url = '/' }, response) => {
    const file = files.get(url)
    response.setHeader('Content-Type', url.endsWith('.js') ? 'text/javascript' : 'text/html')
    response.writeHead(file === undefined ? 404 : 200).end(file)
  })
  await new Promise<void>((resolve) => site.listen(0, '127.0.0.1', resolve))
  t.teardown(() => site.close())
  // Passkeys need a domain, not an address.
  return `http://localhost:${(site.address() as AddressInfo).port}`
}

const [browser, shop, other] = await Promise.all([launchBrowser(t), startSite(), startSite()])
const { url } = await startApplication(t, database.authenticatorUri, {
  GOTRUE_MAILER_AUTOCONFIRM: 'true',
  GOTRUE_SITE_URL: shop,
  GOTRUE_PASSKEY_ENABLED: 'true',
  GOTRUE_MFA_WEB_AUTHN_ENROLL_ENABLED: 'true',
  GOTRUE_MFA_WEB_AUTHN_VERIFY_ENABLED: 'true',
})
const { key } = await withClient(database.adminUri, (client) => createApiKey(client, { role: 'anon', label: 'page' }))

const source = `
import { createClient } from '@supabase/supabase-js'
const { auth } = createClient(${JSON.stringify(url)}, ${JSON.stringify(key)}, { auth: { experimental: { passkey: true } } })
const plain = ({ data = null, error }) => error
  ? { error: { name: error.name, code: error.code, message: error.message } }
  : { data: JSON.parse(JSON.stringify(data)) }
window.auth = auth
window.run = async (act) => plain(await act(auth))
`
const { outputFiles } = await build({
  stdin: { contents: source, resolveDir: fileURLToPath(new URL('../../', import.meta.url)), loader: 'ts' },
  bundle: true,
  format: 'esm',
  write: false,
  logLevel: 'silent',
})
files.set('/app.js', outputFiles[0]?.text ?? '')

type Result = {
  readonly data?: Readonly<Record<string, unknown>>
  readonly error?: { readonly name: string; readonly code?: string; readonly message: string }
}

/** Runs a call of auth-js in a page: `auth => auth.signOut()`. */
const run = async (page: Page, act: string): Promise<Result> => (await page.evaluate(`run(${act})`)) as Result

/** A page with an authenticator: one of the device, or a security key. */
async function open(origin: string, transport: 'internal' | 'usb' = 'internal') {
  const page = await (await browser.createBrowserContext()).newPage()
  await page.goto(origin)
  await page.waitForFunction('window.run !== undefined')
  const devtools = await page.createCDPSession()
  await devtools.send('WebAuthn.enable')
  return { page, devtools, authenticatorId: await addAuthenticator(devtools, transport) }
}

async function addAuthenticator(devtools: CDPSession, transport: 'internal' | 'usb'): Promise<string> {
  const { authenticatorId } = await devtools.send('WebAuthn.addVirtualAuthenticator', {
    options: {
      protocol: 'ctap2',
      transport,
      hasResidentKey: true,
      hasUserVerification: true,
      isUserVerified: true,
      automaticPresenceSimulation: true,
    },
  })
  return authenticatorId
}

const signUp = (page: Page, email = newAddress()): Promise<Result> =>
  run(page, `(auth) => auth.signUp(${JSON.stringify({ email, password })})`)

const methods = async (page: Page): Promise<unknown> =>
  page.evaluate(
    'auth.mfa.getAuthenticatorAssuranceLevel().then(({ data }) => [data.currentLevel, ...data.currentAuthenticationMethods.map(({ method }) => method)])',
  )

t.test('a user registers a passkey, and signs in with it', async (t) => {
  const { page, devtools, authenticatorId } = await open(shop)
  const { data } = await signUp(page)
  const user = data?.user as { readonly id: string }
  const registered = await run(page, '(auth) => auth.registerPasskey()')
  t.match(registered, { data: { id: String, friendly_name: 'Passkey', created_at: String } })
  const { credentials } = await devtools.send('WebAuthn.getCredentials', { authenticatorId })
  t.match(credentials, [{ isResidentCredential: true, rpId: 'localhost' }])
  t.equal(Buffer.from(credentials[0]?.userHandle ?? '', 'base64').toString(), user.id)

  const again = await run(page, '(auth) => auth.registerPasskey()')
  t.match(again.error?.code, 'ERROR_AUTHENTICATOR_PREVIOUSLY_REGISTERED')

  await run(page, '(auth) => auth.signOut()')
  const signedIn = await run(page, '(auth) => auth.signInWithPasskey()')
  t.match(signedIn, { data: { user: { id: user.id }, session: { access_token: String, refresh_token: String } } })
  t.strictSame(await methods(page), ['aal1', 'passkey'])
  t.match(await run(page, '(auth) => auth.getUser()'), { data: { user: { id: user.id } } }, 'the session works')
  const id = JSON.stringify(registered.data?.id)
  await run(page, `(auth) => auth.passkey.update({ passkeyId: ${id}, friendlyName: 'My laptop' })`)
  t.match(await run(page, '(auth) => auth.passkey.list()'), {
    data: [{ id: registered.data?.id, friendly_name: 'My laptop', last_used_at: String }],
  })

  t.match(await run(page, `(auth) => auth.passkey.delete({ passkeyId: ${id} })`), { data: null })
  t.match(await run(page, '(auth) => auth.signInWithPasskey()'), { error: { code: 'webauthn_verification_failed' } })
})

t.test('a copy of an authenticator is found out by its counter', async (t) => {
  const { page, devtools, authenticatorId } = await open(shop)
  await signUp(page)
  await run(page, '(auth) => auth.registerPasskey()')
  for (let n = 0; n < 3; n++) t.match(await run(page, '(auth) => auth.signInWithPasskey()'), { data: { user: {} } })
  const { credentials } = await devtools.send('WebAuthn.getCredentials', { authenticatorId })
  const [credential] = credentials
  if (!credential) throw new Error('no credential')
  t.ok(credential.signCount > 2)
  await devtools.send('WebAuthn.removeCredential', { authenticatorId, credentialId: credential.credentialId })
  const copy = { ...credential, signCount: 1 }
  await devtools.send('WebAuthn.addCredential', { authenticatorId, credential: copy })
  t.match(await run(page, '(auth) => auth.signInWithPasskey()'), {
    error: { code: 'webauthn_verification_failed', message: /copied/ },
  })
})

t.test('a page of another origin of the same domain is refused', async (t) => {
  const { page, devtools, authenticatorId } = await open(shop)
  await signUp(page)
  await run(page, '(auth) => auth.registerPasskey()')
  const { credentials } = await devtools.send('WebAuthn.getCredentials', { authenticatorId })
  const [credential] = credentials
  if (!credential) throw new Error('no credential')
  const phishing = await open(other)
  await phishing.devtools.send('WebAuthn.addCredential', {
    authenticatorId: phishing.authenticatorId,
    credential: { ...credential, signCount: 100 },
  })
  const refused = await run(phishing.page, '(auth) => auth.signInWithPasskey()')
  t.match(refused.error, { code: 'webauthn_verification_failed', message: /origin/ })
  t.ok(refused.error?.message.includes(other))
  await signUp(phishing.page)
  t.match(await run(phishing.page, '(auth) => auth.registerPasskey()'), {
    error: { code: 'webauthn_verification_failed', message: /origin/ },
  })
})

t.test('a user who is not verified gets no signature', async (t) => {
  const { page, devtools, authenticatorId } = await open(shop)
  await signUp(page)
  await run(page, '(auth) => auth.registerPasskey()')
  await devtools.send('WebAuthn.setUserVerified', { authenticatorId, isUserVerified: false })
  t.match(await run(page, '(auth) => auth.signInWithPasskey()'), { error: { name: /./ } })
})

t.test('a security key as second factor', async (t) => {
  const { page, devtools, authenticatorId } = await open(shop, 'usb')
  const email = newAddress()
  await signUp(page, email)
  t.strictSame(await methods(page), ['aal1', 'password'])
  const registered = await run(page, "(auth) => auth.mfa.webauthn.register({ friendlyName: 'Blue key' })")
  t.match(registered, { data: { access_token: String, user: { email } } })
  t.strictSame(await methods(page), ['aal2', 'mfa/webauthn', 'password'])
  const { data } = await run(page, '(auth) => auth.mfa.listFactors()')
  t.match(data, { webauthn: [{ status: 'verified', friendly_name: 'Blue key' }] })
  const [factor] = data?.webauthn as readonly { readonly id: string }[]

  await run(page, '(auth) => auth.signOut()')
  await run(page, `(auth) => auth.signInWithPassword(${JSON.stringify({ email, password })})`)
  t.strictSame(await methods(page), ['aal1', 'password'])
  const authenticate = `(auth) => auth.mfa.webauthn.authenticate({ factorId: ${JSON.stringify(factor?.id)} })`
  t.match(await run(page, authenticate), { data: { access_token: String } })
  t.strictSame(await methods(page), ['aal2', 'mfa/webauthn', 'password'])

  await devtools.send('WebAuthn.clearCredentials', { authenticatorId })
  t.match(await run(page, authenticate), { error: { name: /./ } }, 'without the key')
})
