// `@supabase/ssr`: two people in an app that renders its pages on the server.
import { setTimeout as pause } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { mailSettings } from '../support/mailing-service.ts'
import { startMailSink } from '../support/mail-sink.ts'
import { Browser, startRenderedApp, type SsrModule } from './support/rendered-app.ts'
import { scenario } from './support/scenario.ts'
import { startServer } from './support/server.ts'

const sink = await startMailSink(t)
const server = await startServer(t, {
  env: {
    ...mailSettings(sink),
    GOTRUE_URI_ALLOW_LIST: 'http://127.0.0.1:*/**',
    // Clients refresh a token that is valid for less than 90 seconds, so these after five.
    GOTRUE_JWT_EXP: '95',
    GOTRUE_SECURITY_REFRESH_TOKEN_REUSE_INTERVAL: '10',
  },
})

const done =
  'Express app with cookies: sign-up, sign-in, sign-in by mail with PKCE, refresh on the server, also of parallel requests, sign-out, two users'
await scenario(t, '@supabase/ssr', done, async (t, { load }) => {
  const ssr = await load<SsrModule>('@supabase/ssr')
  const app = await startRenderedApp(t, ssr, server)
  await useApp(t, app)
})

async function useApp(t: Test, app: string): Promise<void> {
  const [ann, bob] = [new Browser(app), new Browser(app)]
  const visitor = '<h1>Hello visitor</h1>'

  await t.test('sign-up, and what is stored', async (t) => {
    t.equal((await ann.get('/')).text, visitor)
    // More than fits into one cookie.
    const about = 'x'.repeat(1000)
    const fields = { email: 'ann@example.org', password: 'a long password', about }
    t.match(await ann.post('/sign-up', fields), { status: 303, location: '/' })
    const parts = [...ann.cookies.keys()].filter((name) => /^sb-127-auth-token\.\d$/.test(name))
    t.strictSame(parts.sort(), ['sb-127-auth-token.0', 'sb-127-auth-token.1', 'sb-127-auth-token.2'])
    t.match(await ann.post('/todos', { task: 'Write' }), { status: 303 })
    t.equal((await ann.get('/')).text, '<h1>Hello ann@example.org</h1><li>Write</li>')
    t.match(JSON.parse((await ann.get('/claims')).text), {
      email: 'ann@example.org',
      role: 'authenticated',
      aal: 'aal1',
    })
    t.match(await new Browser(app).post('/sign-up', fields), { status: 422, text: 'user_already_exists' })
  })

  await t.test('a token that expires soon is refreshed', async (t) => {
    await pause(6000)
    const before = JSON.stringify([...ann.cookies])
    t.match((await ann.get('/')).text, 'ann@example.org')
    t.not(JSON.stringify([...ann.cookies]), before)
    t.match(JSON.parse((await ann.get('/claims')).text), { email: 'ann@example.org' })
    await pause(6000)
    const parallel = await Promise.all(Array.from({ length: 6 }, () => ann.copy().get('/')))
    for (const { text } of parallel) t.match(text, 'ann@example.org')
    t.match((await ann.get('/')).text, 'ann@example.org', 'the session is still there')
  })

  await t.test('a second person', async (t) => {
    await server.addUser('bob@example.org', 'another password')
    t.match(await bob.post('/sign-in', { email: 'bob@example.org', password: 'wrong' }), {
      status: 400,
      text: 'invalid_credentials',
    })
    t.match(await bob.post('/todos', { task: 'x' }), { status: 401, text: '42501' })
    t.match(await bob.post('/sign-in', { email: 'bob@example.org', password: 'another password' }), { status: 303 })
    t.equal((await bob.get('/')).text, '<h1>Hello bob@example.org</h1>')
    t.match(await bob.post('/todos', { task: 'Paint' }), { status: 303 })
    t.match((await bob.get('/')).text, '<li>Paint</li>')
    t.notMatch((await ann.get('/')).text, 'Paint')
  })

  await t.test('a link in a mail', async (t) => {
    const other = new Browser(app)
    t.match(await other.post('/link', { email: 'bob@example.org' }), { status: 200 })
    const { link } = await sink.next('bob@example.org')
    const { status, headers } = await fetch(link.replaceAll('&amp;', '&'), { redirect: 'manual' })
    const callback = headers.get('location') ?? ''
    t.equal(status, 303)
    t.match(callback, `${app}/callback?code=`)
    t.not((await new Browser(app).get(callback)).status, 303, 'a browser without the verifier')
    t.match(await other.get(callback), { status: 303 })
    t.match((await other.get('/')).text, 'Hello bob@example.org')
    t.not((await other.get(callback)).status, 303, 'a code is valid once')
  })

  await t.test('sign-out ends the session, also for copies of its cookies', async (t) => {
    const copy = ann.copy()
    t.match(await ann.post('/sign-out'), { status: 303 })
    t.equal(ann.cookies.size, 0)
    t.equal((await ann.get('/')).text, visitor)
    t.equal((await copy.get('/')).text, visitor)
    t.match((await bob.get('/')).text, 'Hello bob@example.org')
  })

  await t.test('cookies that the app did not set', async (t) => {
    const forged = bob.copy()
    const [name = '', value = ''] = [...forged.cookies][0] ?? []
    const session = Buffer.from(value.slice('base64-'.length), 'base64url').toString()
    const changes: readonly (readonly [what: string, pattern: RegExp, text: string])[] = [
      ['an unsigned token', /("access_token":"[^.]*\.[^.]*\.)[^"]*"/, '$1AAAA"'],
      ['changed claims', /("access_token":"[^.]*\.)[^.]*/, '$1eyJyb2xlIjoic2VydmljZV9yb2xlIn0'],
      [
        'an expired session with another refresh token',
        /"expires_at":\d+(.*)"refresh_token":"[^"]*"/,
        '"expires_at":1$1"refresh_token":"aaaaaaaaaaaa"',
      ],
    ]
    for (const [what, pattern, text] of changes) {
      const changed = session.replace(pattern, text)
      t.not(changed, session)
      forged.cookies.set(name, `base64-${Buffer.from(changed).toString('base64url')}`)
      t.equal((await forged.get('/')).text, visitor, what)
    }
    forged.cookies.set(name, 'base64-e30')
    t.equal((await forged.get('/')).text, visitor)
    t.match((await bob.get('/')).text, 'Hello bob@example.org')
  })
}
