// The mailbox of the development mode, and the hooks that replace mail servers.
import { request } from 'node:http'
import t from 'tap'
import { embeddedVariable } from '../../server/running/embedded-environment.ts'
import { noHooks } from '../../server/services/auth/auth-hooks.ts'
import { CodeSender, type CodeSenderContext } from '../../server/services/auth/mail/code-sender.ts'
import { mailKinds } from '../../server/services/auth/mail/mail-kind.ts'
import type { IssuedCodes } from '../../server/services/auth/mail/one-time-codes.ts'
import { loadConfig } from '../../server/config/load.ts'
import { startApplication } from '../support/application.ts'
import { askAuth, newAddress } from '../support/auth.ts'
import { createMigratedDatabase } from '../support/database.ts'
import { until } from '../support/until.ts'

const database = await createMigratedDatabase()
t.teardown(() => database.drop())
const { url, logged } = await startApplication(t, database.authenticatorUri, {
  [embeddedVariable]: 'x',
  PGRST_SERVER_HOST: '127.0.0.1',
  SESSION_SECRETS: 's'.repeat(32),
})
const ask = askAuth(url)

type Entry = { readonly to: string; readonly link: string; readonly code: string }

const mailbox = async (): Promise<readonly Entry[]> =>
  (await ask('GET', '/dev/mailbox')).body.messages as readonly Entry[]

/** The status of a request with other headers, which `fetch` would not send. */
const statusWith = (headers: Readonly<Record<string, string>>, path = ''): Promise<number | undefined> =>
  new Promise((resolve, reject) => {
    request(`${url}/auth/v1/dev/mailbox${path}`, { headers }, (response) => {
      response.resume()
      resolve(response.statusCode)
    })
      .on('error', reject)
      .end()
  })

t.test('without a mail server, mails are in the mailbox', async (t) => {
  const email = newAddress()
  t.equal((await ask('POST', '/otp', { body: { email, data: { name: '<script>' } } })).status, 200)
  t.ok(await until(async () => (await mailbox()).some(({ to }) => to === email)))
  const entry = (await mailbox()).find(({ to }) => to === email)
  t.match(entry, { to: email, subject: 'Confirm your e-mail address', code: /^\d{6}$/, link: `${url}/auth/v1/verify?` })
  const session = await ask('POST', '/verify', { body: { type: 'email', email, token: entry?.code } })
  t.match(session.body, { access_token: String })
  const page = await ask('GET', '/dev/mailbox', { headers: { accept: 'text/html' } })
  t.match(page.headers.get('content-type'), 'text/html')
  t.match(page.text, entry?.code)
})

t.test('mails are in the log', async (t) => {
  const email = newAddress()
  await ask('POST', '/otp', { body: { email } })
  t.ok(await until(async () => (await mailbox()).some(({ to }) => to === email)))
  const entry = (await mailbox()).find(({ to }) => to === email)
  const line = logged().find(({ event, msg }) => event === 'mail' && String(msg).includes(email))
  t.match(line?.msg, entry?.code)
  t.match(line?.msg, entry?.link)
})

t.test('a page on another port of this machine gets its users back; a refused page is logged', async (t) => {
  const link = async (page: string): Promise<string | null> => {
    const email = newAddress()
    await ask('POST', `/otp?redirect_to=${encodeURIComponent(page)}`, { body: { email } })
    await until(async () => (await mailbox()).some(({ to }) => to === email))
    const entry = (await mailbox()).find(({ to }) => to === email)
    return new URL(entry?.link ?? '').searchParams.get('redirect_to')
  }
  const warnings = (): readonly unknown[] => logged().flatMap(({ event, msg }) => (event === 'warning' ? [msg] : []))
  for (const page of ['http://localhost:5173/notes?a=b', 'http://127.0.0.1:5173/']) t.equal(await link(page), page)
  t.notMatch(warnings().join(), 'redirect_to')
  t.equal(await link('https://app.test/'), url)
  t.match(warnings().join(), `redirect_to=https://app.test/ is not allowed; the link leads to ${url}. GOTRUE_SITE_URL`)
})

t.test('the mailbox is for the same machine and its own pages only', async (t) => {
  const { port } = new URL(url)
  const rows: readonly (readonly [headers: Readonly<Record<string, string>>, status: number])[] = [
    [{}, 200],
    [{ 'sec-fetch-site': 'none' }, 200],
    [{ 'sec-fetch-site': 'same-origin' }, 200],
    [{ 'sec-fetch-site': 'same-origin', origin: url }, 200],
    [{ origin: url }, 200],
    [{ host: `localhost:${port}`, origin: `http://localhost:${port}` }, 200],
    [{ host: `[::1]:${port}` }, 200],
    // Pages of other origins, as browsers with and without fetch metadata send them.
    [{ 'sec-fetch-site': 'cross-site' }, 404],
    [{ 'sec-fetch-site': 'same-site' }, 404],
    [{ 'sec-fetch-site': 'same-site', origin: url }, 404],
    [{ 'sec-fetch-site': 'none', origin: 'http://127.0.0.1:5173' }, 404],
    [{ origin: 'http://127.0.0.1:5173' }, 404],
    [{ origin: `http://localhost:${port}` }, 404],
    [{ origin: 'https://evil.test' }, 404],
    [{ origin: 'null' }, 404],
    // A name that leads to this machine (DNS rebinding), and names that look like its own.
    [{ host: 'evil.test' }, 404],
    [{ host: 'evil.test', origin: 'http://evil.test' }, 404],
    [{ host: `evil.test:${port}`, 'sec-fetch-site': 'same-origin' }, 404],
    [{ host: `localhost.evil.test:${port}` }, 404],
    [{ host: `127.0.0.1.evil.test:${port}` }, 404],
    [{ host: 'evil.test#localhost' }, 404],
    [{ host: '0.0.0.0' }, 404],
    // A proxy.
    [{ 'x-forwarded-for': '203.0.113.7' }, 404],
    [{ forwarded: 'for=203.0.113.7' }, 404],
    ...['x-forwarded-host', 'x-forwarded-proto', 'x-real-ip', 'via'].map((name) => [{ [name]: 'x' }, 404] as const),
  ]
  for (const path of ['', '/templates/invite']) {
    for (const [headers, status] of rows) {
      t.equal(await statusWith(headers, path), status, `${path} ${JSON.stringify(headers)}`)
    }
  }
  for (const accept of ['application/json', 'text/html']) {
    const { headers } = await ask('GET', '/dev/mailbox', { headers: { accept } })
    t.equal(headers.get('cross-origin-resource-policy'), 'same-origin', accept)
  }
})

t.test('home, mailbox and API reference link to each other', async (t) => {
  const mail = '/auth/v1/dev/mailbox'
  const paths = ['/', '/docs/', mail, `${mail}/`, `${mail}/templates/invite`]
  const others = ['/', '/docs/', mail]
  for (const path of paths) {
    const page = await fetch(url + path, { headers: { accept: 'text/html' } })
    t.match(page.headers.get('content-type'), 'text/html', path)
    const linked = Array.from(
      (await page.text()).matchAll(/<a href="([^"]*)"/g),
      ([, link = '']) => new URL(link, url + path),
    )
    for (const other of others.filter((it) => it !== path)) {
      t.ok(
        linked.some(({ pathname }) => pathname === other),
        `${path} links to ${other}`,
      )
    }
    for (const link of linked) t.equal((await fetch(link)).status, 200, `${path} links to ${link.pathname}`)
  }
})

t.test('templates can be looked at', async (t) => {
  for (const kind of mailKinds) {
    const page = await ask('GET', `/dev/mailbox/templates/${kind}`)
    t.equal(page.status, 200, kind)
    t.notMatch(page.text, /\{\{/)
  }
  t.equal((await ask('GET', '/dev/mailbox/templates/absent')).status, 404)
})

t.test('a hook gets the codes instead of the mail server', async (t) => {
  const payloads: Record<string, Record<string, unknown>>[] = []
  const record = (payload: string): Promise<void> => {
    payloads.push(JSON.parse(payload) as Record<string, Record<string, unknown>>)
    return Promise.resolve()
  }
  const { config } = loadConfig({
    env: { GOTRUE_SITE_URL: 'https://app.test', GOTRUE_SMS_TEST_OTP: '15550000=123456' },
  })
  const context: CodeSenderContext = {
    settings: () => config,
    externalUrl: () => 'https://h.test/auth/v1',
    background: (task) => void task(),
    isDevelopment: false,
    warn: (message) => t.fail(message),
    hooks: { ...noHooks, sendEmail: record, sendSms: record },
  }
  const sender = new CodeSender(() => context, { send: () => t.fail('sent by the mail server') })
  const issued: IssuedCodes = {
    status: 'sent',
    user: '{"id":"1","big":12345678901234567890}',
    email: 'a@b.test',
    phone: null,
    new_email: 'c@d.test',
    mails: [
      { to: 'c@d.test', code: '111111', token: 'new' },
      { to: 'a@b.test', code: '222222', token: 'current' },
    ],
  }
  const asked = { url: '/user', headers: {} } as Parameters<CodeSender['mail']>[2]
  await sender.mail('email_change', issued, asked)
  await sender.mail('recovery', { ...issued, mails: issued.mails.slice(0, 1) }, asked)
  t.equal(await sender.message({ ...issued, mails: [{ to: '15551111', code: '333333', token: 'x' }] }), undefined)
  t.equal(await sender.message({ ...issued, mails: [{ to: '15550000', code: '123456', token: 'x' }] }), 'test-otp')
  t.match(payloads, [
    {
      user: { id: '1' },
      email_data: {
        email_action_type: 'email_change',
        ...{ token: '222222', token_hash: 'new', token_new: '111111', token_hash_new: 'current' },
        redirect_to: 'https://app.test',
        site_url: 'https://h.test/auth/v1',
      },
    },
    {
      email_data: {
        email_action_type: 'recovery',
        token: '111111',
        token_hash: 'new',
        token_new: '',
        token_hash_new: '',
      },
    },
    { sms: { otp: '333333', phone: '15551111' } },
  ])
  t.equal(payloads.length, 3)
})
