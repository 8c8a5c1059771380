// What `@supabase/functions-js` sends and expects, call by call, against functions of files.
import { fileURLToPath } from 'node:url'
import { FunctionRegion, FunctionsFetchError, FunctionsHttpError } from '@supabase/supabase-js'
import t from 'tap'
import { clientWith, startFunctionServer } from '../support/function-server.ts'
import { signToken } from '../support/token.ts'

const folder = fileURLToPath(new URL('../fixtures/functions/examples/supabase/functions', import.meta.url))
const { url } = await startFunctionServer(t, { FUNCTIONS_DIR: folder })
const key = await signToken({ role: 'anon' })
const { functions } = clientWith(url, key)

type Mirrored = {
  readonly url: string
  readonly method: string
  readonly headers: readonly (readonly [string, string])[]
  readonly body: unknown
}

const headerOf = ({ headers }: Mirrored, name: string): string | undefined =>
  headers.find(([given]) => given === name)?.[1]

t.test('a body of each kind arrives as what it is', async (t) => {
  const form = new FormData()
  form.set('field', 'ü')
  const bytes = new TextEncoder().encode('bytes').buffer
  const bodies: readonly (readonly [
    kind: string,
    body: FormData | Blob | ArrayBuffer | string | object,
    type: RegExp,
    seen: unknown,
  ])[] = [
    ['text', 'plain ✓', /^text\/plain/, 'plain ✓'],
    ['json', { a: [1, 'x'] }, /^application\/json$/, { a: [1, 'x'] }],
    ['form', form, /^multipart\/form-data; boundary=/, [['field', 'ü']]],
    ['blob', new Blob(['blob']), /^application\/octet-stream$/, 'blob'],
    ['arrayBuffer', bytes, /^application\/octet-stream$/, 'bytes'],
  ]
  for (const [kind, body, type, seen] of bodies) {
    const { data, ...rest } = await functions.invoke<Mirrored>('mirror', {
      body: body as FormData,
      headers: { 'response-type': kind },
    })
    t.equal(rest.error, null, kind)
    t.strictSame(data?.body, seen, kind)
    t.match(data && headerOf(data, 'content-type'), type, kind)
    t.equal(data?.method, 'POST')
  }
})

t.test('a stream arrives with a type of its own', async (t) => {
  const stream = new Blob(['one ', 'two']).stream()
  const response = await fetch(`${url}/functions/v1/mirror`, {
    method: 'POST',
    body: stream,
    duplex: 'half',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/x-lines' },
  })
  const data = (await response.json()) as Mirrored
  t.equal(data.body, 'one two')
  t.equal(headerOf(data, 'content-type'), 'application/x-lines')
})

t.test('methods, headers and the region', async (t) => {
  for (const method of ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'] as const) {
    const { data, ...rest } = await functions.invoke<Mirrored>('mirror', {
      method,
      headers: { 'custom-header': 'value' },
    })
    t.equal(rest.error, null)
    t.equal(data?.method, method)
    t.equal(data && headerOf(data, 'custom-header'), 'value')
    t.equal(data && headerOf(data, 'authorization'), `Bearer ${key}`)
  }
  const { data } = await functions.invoke<Mirrored>('mirror', { region: FunctionRegion.UsEast1, method: 'GET' })
  t.equal(data && headerOf(data, 'x-region'), 'us-east-1')
  t.equal(data?.url, `${url}/mirror?forceFunctionRegion=us-east-1`, 'the path begins with the name')
})

t.test('a path and a query after the name', async (t) => {
  const { data } = await functions.invoke<Mirrored>('mirror/a/b?c=d%20e', { method: 'GET' })
  t.equal(data?.url, `${url}/mirror/a/b?c=d%20e`)
})

t.test('responses are parsed by their type', async (t) => {
  const html = await functions.invoke<string>('elements')
  t.equal(html.data, '<h1>Hello</h1>')
  const pdf = await functions.invoke<Blob>('elements/pdf')
  t.equal(await pdf.data?.text(), '%PDF-1.4')
  const form = await functions.invoke<FormData>('elements/form')
  t.strictSame([...(form.data?.entries() ?? [])], [['a', '1']])
  const image = await fetch(`${url}/functions/v1/elements/pixel.gif`, { headers: { authorization: `Bearer ${key}` } })
  t.equal(Buffer.from(await image.arrayBuffer()).toString('base64'), 'R0lGODlhAQABAAAAACw=')
  const events = await functions.invoke<Response>('streams')
  t.equal(await events.data?.text(), [0, 1, 2, 3, 4].map((n) => `data: ${n}\n\n`).join(''))
})

t.test('errors', async (t) => {
  const status = await functions.invoke('faults', { body: { kind: 'status' } })
  t.type(status.error, FunctionsHttpError)
  t.equal(status.response?.status, 418)
  t.equal(await status.response?.text(), 'teapot')
  const thrown = await functions.invoke('faults', { body: { kind: 'throw' } })
  t.type(thrown.error, FunctionsHttpError)
  t.equal(thrown.response?.status, 500)
  t.notMatch(await thrown.response?.text(), 'on purpose', 'the reason is for the log')
  const missing = await functions.invoke('unknown')
  t.type(missing.error, FunctionsHttpError)
  t.equal(missing.response?.status, 404)
  t.strictSame(await missing.response?.json(), { code: 'NOT_FOUND', message: 'Requested function was not found' })
  const boot = await functions.invoke('not-a-package')
  t.type(boot.error, FunctionsHttpError)
  t.equal(boot.response?.status, 503)
  t.strictSame(await boot.response?.json(), {
    code: 'BOOT_ERROR',
    message: 'Worker failed to boot (please check logs)',
  })
  const forged = await clientWith(url, `${key}x`).functions.invoke('mirror')
  t.type(forged.error, FunctionsHttpError)
  t.equal(forged.response?.status, 401)
})

t.test('timeouts and signals of the client', async (t) => {
  const ended = await functions.invoke<string>('slow?ms=300')
  t.equal(ended.data, 'Slow Response')
  const late = await functions.invoke('slow', { timeout: 200 })
  t.type(late.error, FunctionsFetchError)
  const inTime = await functions.invoke<string>('slow?ms=300', { timeout: 20_000 })
  t.equal(inTime.data, 'Slow Response')
  const ending = new AbortController()
  setTimeout(() => ending.abort(), 100)
  const aborted = await functions.invoke('slow', { timeout: 20_000, signal: ending.signal })
  t.type(aborted.error, FunctionsFetchError)
})
