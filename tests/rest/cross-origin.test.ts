// Requests from pages: same origin, listed origins, other origins. Method, headers -> status, CORS headers.
import { request as send } from 'node:http'
import t from 'tap'
import { signUp } from '../support/account.ts'
import { createMigratedDatabase } from '../support/database.ts'
import { startService } from '../support/service.ts'

const database = await createMigratedDatabase()
t.teardown(database.drop)
const listed = 'https://app.example.org'
const { url, call } = await startService(t, database.authenticatorUri, { allowedOrigins: () => [listed] })
const ann = await signUp(call, 'ann@example.org')

type Headers = Readonly<Record<string, string | string[] | undefined>>
type Given = { readonly status: number | undefined; readonly headers: Headers; readonly body: string }

/** `fetch` would change or drop some of these headers. */
const raw = (method: string, path: string, headers: Readonly<Record<string, string>>): Promise<Given> =>
  new Promise((resolve, reject) => {
    const request = send(url + path, { method, headers: { Cookie: ann.cookie, ...headers } }, (response) => {
      let body = ''
      response.setEncoding('utf8').on('data', (chunk: string) => (body += chunk))
      response.on('end', () => resolve({ status: response.statusCode, headers: response.headers, body }))
    })
    request.on('error', reject).end()
  })

t.test('writes: headers -> accepted or refused', async (t) => {
  const host = new URL(url).host
  const rows: readonly (readonly [label: string, headers: Readonly<Record<string, string>>, passes: boolean])[] = [
    ['no page', {}, true],
    ['a listed origin', { Origin: listed }, true],
    ['a listed origin, as browsers say it', { Origin: listed, 'Sec-Fetch-Site': 'cross-site' }, true],
    ['same origin', { Origin: url, 'Sec-Fetch-Site': 'same-origin' }, true],
    ['same origin, an older browser', { Origin: url }, true],
    ['our own, behind a proxy that ends TLS', { Origin: `https://${host}` }, true],
    ['the standard port', { Origin: 'https://example.org', Host: 'Example.org:443' }, true],
    [
      'same origin, behind a proxy that changes the host',
      { Origin: 'https://x.org', 'Sec-Fetch-Site': 'same-origin' },
      true,
    ],
    ['typed by the user', { 'Sec-Fetch-Site': 'none' }, true],
    ['another site', { Origin: 'https://evil.example' }, false],
    ['another site, as browsers say it', { Origin: 'https://evil.example', 'Sec-Fetch-Site': 'cross-site' }, false],
    ['another site, without an origin', { 'Sec-Fetch-Site': 'cross-site' }, false],
    ['a sibling', { Origin: 'https://evil.example.org', 'Sec-Fetch-Site': 'same-site' }, false],
    ['a sibling without an origin', { 'Sec-Fetch-Site': 'same-site' }, false],
    ['another scheme', { Origin: url, 'Sec-Fetch-Site': 'cross-site' }, false],
    ['a sandbox', { Origin: 'null' }, false],
    ['a sandbox, as browsers say it', { Origin: 'null', 'Sec-Fetch-Site': 'cross-site' }, false],
    ['a sandbox without fetch metadata but none', { Origin: 'null', 'Sec-Fetch-Site': 'none' }, false],
    ['another port', { Origin: 'http://127.0.0.1:1' }, false],
    ['an origin that starts with a listed one', { Origin: `${listed}.evil.example` }, false],
    ['a listed origin in capitals', { Origin: listed.toUpperCase() }, false],
    ['an origin that starts with that of the server', { Origin: `${url}.evil.example` }, false],
    ['a user name', { Origin: `http://${host}@evil.example` }, false],
    ['an extension', { Origin: `chrome-extension://${host}` }, false],
    ['nonsense', { Origin: 'http://' }, false],
  ]
  const writes = [
    ['POST', '/report'],
    ['PATCH', '/report/1'],
    ['DELETE', '/report/1'],
    ['PATCH', '/report/1/approval'],
    ['POST', '/auth/signup'],
    ['POST', '/auth/signin'],
    ['POST', '/auth/token'],
    ['PATCH', '/auth/me'],
    ['DELETE', '/auth/me'],
    ['DELETE', '/auth/sessions/1'],
  ] as const
  for (const [label, headers, passes] of rows) {
    for (const [method, path] of writes) {
      const given = await raw(method, path, headers)
      if (passes) t.not(given.status, 403, `${label}: ${method} ${path}`)
      else {
        t.equal(given.status, 403, `${label}: ${method} ${path}`)
        t.strictSame(JSON.parse(given.body), {
          status: 'fail',
          statusCode: 403,
          message: 'Requests from pages of other sites are not accepted',
        })
      }
    }
    t.not((await raw('GET', '/report', headers)).status, 403, `${label}: reads change nothing`)
  }
  t.equal((await raw('POST', '/auth/signout', { Origin: 'https://evil.example' })).status, 403)
  t.equal((await ann.call('GET', '/auth/me')).status, 200, 'other origins cannot sign a user out')
})

t.test('responses allow reading by listed origins only', async (t) => {
  for (const path of ['/report', '/auth/me', '/auth/nothing']) {
    const read = await raw('GET', path, { Origin: listed })
    t.equal(read.headers['access-control-allow-origin'], listed, path)
    t.equal(read.headers['access-control-allow-credentials'], 'true')
    t.match(read.headers.vary, /Origin/)
    for (const origin of ['https://evil.example', 'null', url]) {
      const other = await raw('GET', path, { Origin: origin })
      t.equal(other.headers['access-control-allow-origin'], undefined, `${path} ${origin}`)
      t.equal(other.headers['access-control-allow-credentials'], undefined)
      t.match(other.headers.vary, /Origin/)
    }
  }
  const failed = await raw('POST', '/report', { Origin: listed })
  t.strictSame([failed.status, failed.headers['access-control-allow-origin']], [415, listed], 'errors, too')
})

t.test('preflight requests', async (t) => {
  const asks = { 'Access-Control-Request-Method': 'PATCH', 'Access-Control-Request-Headers': 'content-type' }
  for (const path of ['/report', '/report/1', '/auth/signin']) {
    const given = await raw('OPTIONS', path, { Origin: listed, ...asks })
    t.strictSame([given.status, given.body], [204, ''], path)
    t.match(given.headers, {
      'access-control-allow-origin': listed,
      'access-control-allow-credentials': 'true',
      'access-control-allow-methods': 'GET, HEAD, POST, PATCH, DELETE',
      'access-control-allow-headers': 'Content-Type',
      'access-control-max-age': '7200',
    })
    const other = await raw('OPTIONS', path, { Origin: 'https://evil.example', ...asks })
    t.equal(other.status, 405)
    t.equal(other.headers['access-control-allow-origin'], undefined)
  }
  t.equal(
    (await raw('OPTIONS', '/report', { Origin: listed })).status,
    405,
    'not every OPTIONS request is a preflight request',
  )
})

t.test('without a list, other origins are refused', async (t) => {
  const { call } = await startService(t, database.authenticatorUri)
  const given = await call('GET', '/report', { headers: { Origin: listed, Cookie: ann.cookie } })
  t.strictSame([given.status, given.headers.get('access-control-allow-origin')], [200, null])
  t.equal((await call('POST', '/auth/signout', { headers: { Origin: listed, Cookie: ann.cookie } })).status, 403)
})
