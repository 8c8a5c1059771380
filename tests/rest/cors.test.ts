import t from 'tap'
import { corsHeaders, preflightHeaders, type Preflight } from '../../server/rest/cors.ts'
import { startApplication } from '../support/application.ts'
import { createMigratedDatabase } from '../support/database.ts'
import { send } from '../support/sent-request.ts'

const shop = 'https://shop.test'
const methods = 'GET, POST, PATCH, PUT, DELETE, OPTIONS, HEAD'
const exposed =
  'Content-Encoding, Content-Location, Content-Range, Content-Type, Date, Location, Server, Transfer-Encoding, Range-Unit'

t.test('headers of responses', async (t) => {
  t.strictSame(
    corsHeaders(
      shop,
      [],
      [
        ['ETag', '"1"'],
        ['X-Own', '1'],
        ['Link', '<?cursor=x>'],
      ],
    ),
    [
      ['Access-Control-Allow-Origin', '*'],
      ['Access-Control-Expose-Headers', exposed],
      ['Access-Control-Expose-Headers', 'ETag, Link'],
    ],
  )
  t.strictSame(corsHeaders(shop, ['https://other.test', shop]), [
    ['Access-Control-Allow-Origin', shop],
    ['Access-Control-Allow-Credentials', 'true'],
    ['Access-Control-Expose-Headers', exposed],
  ])
  for (const origin of ['https://elsewhere.test', `${shop}.evil.test`, 'null', shop.toUpperCase()]) {
    t.strictSame(corsHeaders(origin, [shop]), [], origin)
  }
})

t.test('preflight requests', async (t) => {
  const rows: readonly (readonly [Partial<Preflight>, string | null | undefined])[] = [
    [{}, undefined],
    [{ headers: 'Foo, Bar' }, 'Authorization, Foo, Bar, Accept, Accept-Language, Content-Language'],
    [{ headers: 'accept,AUTHORIZATION' }, 'Authorization, accept, AUTHORIZATION, Accept-Language, Content-Language'],
    [{ headers: '' }, 'Authorization, Accept, Accept-Language, Content-Language'],
    [{ headers: 'Foo Bar' }, null],
    [{ headers: 'a(b' }, null],
    [{ method: 'get' }, null],
    [{ method: 'TRACE' }, null],
    [{ method: '__proto__' }, null],
    [{ origin: 'https://elsewhere.test' }, null],
  ]
  for (const [asked, names] of rows) {
    const preflight = { origin: shop, method: 'POST', headers: undefined, ...asked }
    const expected = [
      ['Access-Control-Allow-Origin', shop],
      ['Access-Control-Allow-Credentials', 'true'],
      ['Access-Control-Allow-Methods', methods],
      ...(names === undefined ? [] : [['Access-Control-Allow-Headers', names]]),
      ['Access-Control-Max-Age', '86400'],
    ]
    t.strictSame(preflightHeaders(preflight, [shop]), names === null ? undefined : expected, JSON.stringify(asked))
  }
})

t.test('CORS over HTTP', async (t) => {
  const database = await createMigratedDatabase()
  t.teardown(() => database.drop())
  const start = (origins: string) =>
    startApplication(t, database.authenticatorUri, {
      SESSION_SECRETS: 's'.repeat(32),
      PGRST_SERVER_CORS_ALLOWED_ORIGINS: origins,
    })
  const [open, listed] = await Promise.all([start(''), start(`${shop}, https://other.test`)])
  const preflight = { 'Access-Control-Request-Method': 'POST', 'Access-Control-Request-Headers': 'content-type' }
  const elsewhere = 'https://elsewhere.test'
  const rows: readonly (readonly [typeof open, string, string, string, boolean, string | null, string | null])[] = [
    [open, 'GET', '/rest/v1/profiles', shop, false, '*', null],
    [open, 'GET', '/rest/v1/nowhere', shop, false, '*', null],
    [open, 'OPTIONS', '/rest/v1/profiles', shop, true, '*', null],
    [listed, 'GET', '/rest/v1/profiles', shop, false, shop, 'true'],
    [listed, 'GET', '/rest/v1/profiles', elsewhere, false, null, null],
    [listed, 'OPTIONS', '/rest/v1/profiles', shop, true, shop, 'true'],
    [listed, 'OPTIONS', '/rest/v1/profiles', elsewhere, true, '*', null],
    // Only listed origins may send cookies.
    ...['/auth/session', '/report/x'].flatMap((path): readonly (typeof rows)[number][] => [
      [listed, 'GET', path, elsewhere, false, null, null],
      [open, 'GET', path, shop, false, null, null],
      [listed, 'GET', path, shop, false, shop, 'true'],
      [listed, 'OPTIONS', path, shop, true, shop, 'true'],
      [listed, 'OPTIONS', path, elsewhere, true, null, null],
      [open, 'OPTIONS', path, shop, true, null, null],
    ]),
  ]
  for (const [server, method, path, origin, asks, allowed, credentials] of rows) {
    const headers = { Origin: origin, ...(asks ? preflight : {}) }
    const answer = await send(server.url, { method, path, headers })
    t.strictSame(
      [answer.header('Access-Control-Allow-Origin'), answer.header('Access-Control-Allow-Credentials')],
      [allowed, credentials],
      `${server === open ? 'open' : 'listed'} ${method} ${path} ${origin}`,
    )
  }
})
