// A page of another origin that calls functions with supabase-js, unmodified: answers, streams, errors, and no faults of CORS.
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'
import t from 'tap'
import { createApiKey } from '../../server/identity/api-key/api-key.ts'
import { newAddress, password } from '../support/auth.ts'
import { withClient } from '../support/database.ts'
import { startFunctionServer } from '../support/function-server.ts'
import { launchBrowser } from './support/browser.ts'

const folder = fileURLToPath(new URL('../fixtures/functions/examples/supabase/functions', import.meta.url))
const [browser, { url, database, reload }] = await Promise.all([
  launchBrowser(t),
  startFunctionServer(t, { FUNCTIONS_DIR: folder, GOTRUE_MAILER_AUTOCONFIRM: 'true' }),
])
const { key } = await withClient(database.adminUri, (client) => createApiKey(client, { role: 'anon', label: 'page' }))

const source = `
import { createClient } from '@supabase/supabase-js'
const supabase = createClient(${JSON.stringify(url)}, ${JSON.stringify(key)})
const described = async ({ data, error, response }) => ({
  data,
  error: error && error.name,
  status: response && response.status,
  body: error && response ? await response.text() : undefined,
})
window.app = {
  signUp: async (email, password) => (await supabase.auth.signUp({ email, password })).error,
  invoke: async (name, options) => described(await supabase.functions.invoke(name, options)),
  form: async () => {
    const form = new FormData()
    form.set('field', 'ü')
    form.set('file', new File(['bytes'], 'a.txt'))
    return (await supabase.functions.invoke('mirror', { body: form, headers: { 'response-type': 'text' } })).data.body
  },
  blob: async () => (await supabase.functions.invoke('mirror', { body: new Blob(['of a blob']) })).data.body,
  events: async () => {
    const { data } = await supabase.functions.invoke('streams')
    const reader = data.body.getReader()
    const chunks = []
    for (let { done, value } = await reader.read(); !done; { done, value } = await reader.read()) {
      chunks.push(new TextDecoder().decode(value))
    }
    return chunks
  },
  requestId: async () => (await supabase.functions.invoke('elements')).response.headers.get('x-request-id'),
}
`

const { outputFiles } = await build({
  stdin: { contents: source, resolveDir: fileURLToPath(new URL('../../', import.meta.url)), loader: 'ts' },
  bundle: true,
  format: 'esm',
  write: false,
  logLevel: 'silent',
})
const site = createServer((request, response) => {
  const isScript = request.url === '/app.js'
  response.setHeader('Content-Type', isScript ? 'text/javascript' : 'text/html')
  response.end(isScript ? outputFiles[0]?.text : '<!doctype html><script type="module" src="app.js"></script>')
})
await new Promise<void>((resolve) => site.listen(0, '127.0.0.1', resolve))
t.teardown(() => site.close())

const page = await (await browser.createBrowserContext()).newPage()
// The server ends once its connections are closed.
t.teardown(() => page.close())
await page.goto(`http://127.0.0.1:${(site.address() as AddressInfo).port}/`)
await page.waitForFunction('window.app !== undefined')

const invoke = (name: string, options: object = {}): Promise<unknown> =>
  page.evaluate(`app.invoke(${JSON.stringify(name)}, ${JSON.stringify(options)})`)

t.test('with a key, and as a user', async (t) => {
  t.match(await invoke('hello', { body: { name: 'Ada' } }), { data: { message: 'Hello Ada!' }, error: null })
  t.equal(await page.evaluate(`app.signUp(${JSON.stringify(newAddress())}, ${JSON.stringify(password)})`), null)
  t.match(await invoke('cors', { body: { name: 'Ada' } }), { data: { message: 'Hello Ada!' }, error: null })
})

t.test('forms, blobs and streams', async (t) => {
  t.match(await page.evaluate('app.form()'), /name="field"\r\n\r\nü\r\n[^]*filename="a.txt"[^]*bytes/)
  t.equal(await page.evaluate('app.blob()'), 'of a blob')
  const chunks = (await page.evaluate('app.events()')) as readonly string[]
  t.equal(chunks.join(''), [0, 1, 2, 3, 4].map((n) => `data: ${n}\n\n`).join(''))
})

t.test('errors reach the page with their status and sentence', async (t) => {
  t.match(await invoke('unknown'), { error: 'FunctionsHttpError', status: 404, body: /was not found/ })
  t.match(await invoke('not-a-package'), { error: 'FunctionsHttpError', status: 503, body: /failed to boot/ })
  t.match(await invoke('faults', { body: { kind: 'throw' } }), { error: 'FunctionsHttpError', status: 500 })
  t.match(await invoke('faults', { body: { kind: 'exit' } }), { error: 'FunctionsHttpError', status: 500 })
  t.match(await invoke('hello', { body: { name: 'x' }, headers: { Authorization: 'Bearer x.y.z' } }), {
    error: 'FunctionsHttpError',
    status: 401,
    body: /Invalid JWT/,
  })
  t.match(await invoke('preflight-only', { method: 'PUT' }), { data: 'PUT', error: null })
  t.match(await page.evaluate('app.requestId()'), /^[\w-]{36}$/)
})

t.test('a server of functions that is not there', async (t) => {
  await reload({ FUNCTIONS_URL: 'http://127.0.0.1:9' })
  t.match(await invoke('hello'), { error: 'FunctionsRelayError', status: 502, body: /cannot be reached/ })
})
