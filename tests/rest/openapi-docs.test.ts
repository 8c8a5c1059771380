import { createServer, request as httpRequest, type IncomingHttpHeaders } from 'node:http'
import type { AddressInfo } from 'node:net'
import { runInNewContext } from 'node:vm'
import express from 'express'
import t from 'tap'
import { docsRouter } from '../../server/services/openapi/docs.ts'

type Answer = { readonly status: number; readonly headers: IncomingHttpHeaders; readonly body: string }

const app = express()
app.use('/docs', docsRouter({ documentUrl: '/openapi.json' }))
app.use('/linked', docsRouter({ documentUrl: 'x', links: [{ text: 'Home', href: '../' }] }))
app.use('/deep/er', docsRouter({ documentUrl: '../../a"b</script>\u2028.json' }))
app.use('/at-root', express.Router().use(docsRouter({ documentUrl: 'x' })))
const server = createServer(app)
await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
t.teardown(() => server.close())
const { port } = server.address() as AddressInfo

/** Sends a request without following redirects or normalising the path. */
const get = (path: string): Promise<Answer> =>
  new Promise((resolve, reject) => {
    const request = httpRequest({ host: '127.0.0.1', port, path, agent: false }, (response) => {
      const chunks: Buffer[] = []
      response.on('data', (chunk: Buffer) => chunks.push(chunk))
      response.on('end', () =>
        resolve({
          status: response.statusCode ?? 0,
          headers: response.headers,
          body: Buffer.concat(chunks).toString(),
        }),
      )
    })
    request.on('error', reject)
    request.end()
  })

t.test('the page and all its resources are served by this server', async (t) => {
  for (const mount of ['/docs/', '/deep/er/', '/at-root/']) {
    const page = await get(mount)
    t.equal(page.status, 200)
    t.match(page.headers['content-type'], /^text\/html/)
    const loaded = Array.from(page.body.matchAll(/(?:src|href)="([^"]*)"/g), ([, address]) => address ?? '')
    t.strictSame(loaded, [
      'favicon-32x32.png',
      'swagger-ui.css',
      'reference.css',
      'swagger-ui-bundle.js',
      'reference.js',
    ])
    t.notMatch(page.body, /<script>|<style|\/\//, 'nothing is inline or from elsewhere')
    for (const address of loaded) {
      const { status, headers, body } = await get(mount + address)
      t.equal(status, 200, address)
      t.match(headers['content-type'], { png: /image/, css: /css/, js: /javascript/ }[address.split('.')[1] ?? ''])
      t.equal(headers['x-content-type-options'], 'nosniff')
      t.ok(body.length > 50)
    }
  }
})

t.test('the content security policy allows no other host', async (t) => {
  const policy = String((await get('/docs/')).headers['content-security-policy'])
  const directives = new Map(policy.split('; ').map((it) => [it.split(' ')[0], it.split(' ').slice(1)]))
  t.strictSame(directives.get('default-src'), ["'none'"])
  for (const [name, sources] of directives) {
    for (const source of sources) {
      t.ok(["'none'", "'self'", 'data:', "'unsafe-inline'"].includes(source), `${String(name)} ${source}`)
    }
  }
  t.strictSame(directives.get('script-src'), ["'self'"])
  t.strictSame(directives.get('connect-src'), ["'self'"])
})

t.test('the page is served under every documented address', async (t) => {
  const rows: readonly (readonly [string, number, string | undefined])[] = [
    ['/docs', 302, './docs/'],
    ['/docs?a=/b', 302, './docs/'],
    ['/deep/er', 302, './er/'],
    ['/docs/?a', 200, undefined],
    ['//docs', 404, undefined],
    ['/docs/swagger-ui.js', 404, undefined],
    ['/docs/swagger-ui-bundle.js.map', 404, undefined],
    ['/docs/package.json', 404, undefined],
    ['/docs/../package.json', 404, undefined],
    ['/docs/..%2fpackage.json', 404, undefined],
  ]
  for (const [path, status, location] of rows) {
    const answer = await get(path)
    t.equal(answer.status, status, path)
    t.equal(answer.headers.location, location, path)
  }
})

type Auth = Readonly<Record<string, unknown>>

/** The script of the page with the browser and Swagger UI replaced by recorders. */
async function startPage(refused: readonly string[] = []) {
  const { body } = await get('/docs/reference.js')
  const seen: unknown[] = []
  let authorized: Readonly<Record<string, Auth>> = {}
  let options: Record<string, unknown> = {}
  const ui = {
    authSelectors: { authorized: () => ({ toJS: () => authorized }) },
    specActions: { updateSpec: (text: string) => seen.push(['document', text]) },
    errActions: {
      clear: (filter: object) => seen.push(['clear', { ...filter }]),
      newThrownErr: (error: Error) => seen.push(['error', error.message]),
    },
  }
  const fetched = (url: string, request: { headers: Record<string, string> }) => {
    seen.push(['fetch', url, { ...request.headers }])
    const isRefused = refused.includes(request.headers.apikey ?? '')
    const text = isRefused ? '{"message":"The API key is unknown"}' : '{"openapi":"3.1.1"}'
    return Promise.resolve({ ok: !isRefused, text: () => Promise.resolve(text) })
  }
  runInNewContext(body, {
    window: {},
    URL,
    location: { href: 'http://host/docs/' },
    fetch: fetched,
    SwaggerUIBundle: (given: Record<string, unknown>) => ((options = given), ui),
  })
  const { plugins, responseInterceptor } = options as {
    plugins: (() => {
      statePlugins: { auth: { wrapActions: Record<string, (original: unknown) => (it: unknown) => unknown> } }
    })[]
    responseInterceptor: (response: { url: string }) => unknown
  }
  const { wrapActions } = plugins[0]?.().statePlugins.auth ?? { wrapActions: {} }
  const settled = () => new Promise((resolve) => setTimeout(resolve, 10))
  return {
    seen,
    /** Imitates Swagger UI when credentials are entered or removed. */
    change: async (action: 'authorize' | 'logout', next: typeof authorized) => {
      wrapActions[action]?.(() => (authorized = next))({})
      await settled()
    },
    receive: async (url: string) => {
      responseInterceptor({ url })
      await settled()
    },
  }
}

t.test('the document is fetched again when credentials change', async (t) => {
  const page = await startPage(['wrong'])
  const apiKey = (value: string) => ({ apiKey: { schema: { type: 'apiKey', in: 'header', name: 'apikey' }, value } })
  const bearer = { bearer: { schema: { type: 'http', scheme: 'bearer' }, value: 'e.y.J' } }
  const cookie = { session: { schema: { type: 'apiKey', in: 'cookie', name: 'session' }, value: 'x' } }
  const fetchedWith = (headers: object) => ['fetch', '/openapi.json', headers]
  const done = [
    ['clear', { type: 'thrown' }],
    ['document', '{"openapi":"3.1.1"}'],
  ]
  t.strictSame(page.seen, [], 'Swagger UI fetches it first')
  await page.change('authorize', apiKey('right'))
  t.strictSame(page.seen.splice(0), [fetchedWith({ apikey: 'right' }), ...done])
  await page.change('authorize', { ...apiKey('right'), ...bearer, ...cookie })
  t.strictSame(page.seen.splice(0), [fetchedWith({ apikey: 'right', Authorization: 'Bearer e.y.J' }), ...done])
  await page.change('authorize', apiKey('wrong'))
  t.strictSame(
    page.seen.splice(0),
    [
      fetchedWith({ apikey: 'wrong' }),
      ['clear', { type: 'thrown' }],
      ['error', 'The credentials were refused: The API key is unknown'],
    ],
    'a refused credential does not change the document',
  )
  await page.change('logout', {})
  t.strictSame(page.seen.splice(0), [fetchedWith({}), ...done])

  await page.receive('http://host/auth/signin')
  t.strictSame(page.seen.splice(0), [fetchedWith({}), ...done], 'the cookie may have changed')
  await page.receive('http://host/rest/v1/items')
  t.strictSame(page.seen, [])
})

t.test('the dialog has no field for the cookie, and opens at its first field', async (t) => {
  const { body } = await get('/docs/reference.js')
  type Actions = Record<string, (original: (given: unknown) => unknown) => (given: unknown) => unknown>
  type Plugin = () => { statePlugins: Record<'auth' | 'spec', { wrapActions: Actions }> }
  let plugin: Plugin | undefined
  const calls: unknown[] = []
  const dialog = {
    querySelector: (selector: string) => ({ focus: () => calls.push(['focus', selector]) }),
    scrollTo: (...to: number[]) => calls.push(['scroll', ...to]),
  }
  runInNewContext(body, {
    window: {},
    document: { querySelector: (selector: string) => (selector === '.modal-ux-content' ? dialog : null) },
    setTimeout: (run: () => void) => (calls.push('later'), run()),
    SwaggerUIBundle: ({ plugins }: { plugins: readonly Plugin[] }) => void (plugin = plugins[0]),
  })
  const { auth, spec } = plugin?.().statePlugins ?? { auth: { wrapActions: {} }, spec: { wrapActions: {} } }
  auth.wrapActions.showDefinitions?.(() => calls.push('shown'))({})
  t.strictSame(calls.splice(0), ['shown', 'later', ['focus', 'input'], ['scroll', 0, 0]])
  auth.wrapActions.showDefinitions?.(() => calls.push('closed'))(false)
  t.strictSame(calls, ['closed'])

  const shown = (document: unknown) => {
    let text: unknown
    spec.wrapActions.updateSpec?.((given) => (text = given))(
      typeof document === 'string' ? document : JSON.stringify(document),
    )
    return typeof document === 'string' ? text : (JSON.parse(String(text)) as unknown)
  }
  const apiKey = { type: 'apiKey', in: 'header', name: 'apikey' }
  const session = { type: 'apiKey', in: 'cookie', name: 'session' }
  const withSchemes = (securitySchemes: object, ...security: readonly object[][]) => ({
    components: { securitySchemes },
    security: [{ apiKey: [] }],
    paths: Object.fromEntries(security.map((it, index) => [`/${index}`, { summary: 'x', get: { security: it } }])),
  })
  t.strictSame(
    shown(withSchemes({ apiKey, session }, [{ session: [] }], [{ session: [] }, { apiKey: [] }, {}], [])),
    withSchemes({ apiKey }, [], [{ apiKey: [] }, {}], []),
  )
  for (const text of ['', '{', 'null', '{"openapi":"3.1.1"}']) t.equal(shown(text), text)
})

t.test('links to other pages', async (t) => {
  t.match((await get('/linked/')).body, '<a href="../">Home</a>')
  t.notMatch((await get('/docs/')).body, '<nav')
})

t.test('the page loads the document', async (t) => {
  for (const [mount, url] of [
    ['/docs', '/openapi.json'],
    ['/deep/er', '../../a"b</script>\u2028.json'],
  ] as const) {
    const { body } = await get(`${mount}/reference.js`)
    let options: Record<string, unknown> | undefined
    // Runs the file as a browser would.
    runInNewContext(body, { window: {}, SwaggerUIBundle: (given: Record<string, unknown>) => void (options = given) })
    t.match(options, { url, dom_id: '#reference', validatorUrl: null })
  }
})
