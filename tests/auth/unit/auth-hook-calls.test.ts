// Calls of HTTP hooks: responses, errors, time limits and retries.
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import t, { type Test } from 'tap'
import { callHttpHook, httpHookLimits } from '../../../server/services/auth/hooks/http-hook.ts'
import { webhookHeaders } from '../../../server/services/outgoing/webhook-signature.ts'
import { claimsOfHook } from '../../../server/services/auth/hooks/token-claims.ts'

const limits = { ...httpHookLimits, timeout: 60_000, backoff: 1 }
const key = Buffer.alloc(32, 7)

type Received = { readonly headers: IncomingMessage['headers']; readonly body: string }
type Hook = (response: ServerResponse, attempt: number) => void

/** Starts a hook. Returns how to call it, and the requests that it has received. */
async function start(t: Test, respond: Hook) {
  const received: Received[] = []
  const server = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      received.push({ headers: request.headers, body: Buffer.concat(chunks).toString() })
      respond(response, received.length)
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`
  const call = (payload = '{}', of: Partial<typeof limits> = {}) =>
    callHttpHook({ kind: 'http', url, keys: [key] }, payload, { ...limits, ...of })
  return { call, received, url }
}

const json =
  (status: number, value: unknown, type = 'application/json'): Hook =>
  (response) => {
    response.writeHead(status, { 'Content-Type': type })
    response.end(JSON.stringify(value))
  }

const fails = (t: Test, call: Promise<unknown>, status: number, code: string | null, message: string | RegExp) =>
  t.rejects(call, { name: 'AuthError', status, code, message })

t.test('sends a signed request, and returns the response with all digits', async (t) => {
  const { call, received } = await start(t, (response) => {
    response.writeHead(200, { 'Content-Type': 'application/json; charset=utf-8' })
    response.end('{"claims": {"big": 12345678901234567890}}')
  })
  const { text, value } = await call('{"user": {"id": 9007199254740993}}')
  t.equal(text, '{"claims": {"big": 12345678901234567890}}')
  t.ok(value.claims)
  const [{ headers, body } = { headers: {}, body: '' }] = received
  t.equal(body, '{"user": {"id": 9007199254740993}}')
  t.match(headers, { 'content-type': 'application/json', 'webhook-id': /^[0-9a-f-]{36}$/ })
  const id = String(headers['webhook-id'])
  const timestamp = Number(headers['webhook-timestamp'])
  t.ok(Math.abs(timestamp - Date.now() / 1000) < 600, 'the time is the current one, in seconds')
  t.match(headers, webhookHeaders({ id, timestamp, body }, [key]))
})

t.test('accepts responses without content', async (t) => {
  for (const respond of [
    (response: ServerResponse) => response.writeHead(204).end(),
    json(200, null),
    json(202, {}),
    json(200, { error: {} }),
    json(200, { error: { http_code: 500, message: '' } }),
  ]) {
    const { call } = await start(t, respond)
    await t.resolves(call())
  }
})

const errors: readonly (readonly [
  name: string,
  respond: Hook,
  status: number,
  code: string | null,
  message: string,
])[] = [
  ['an error of the hook', json(200, { error: { http_code: 403, message: 'no' } }), 403, null, 'no'],
  ['an error without a status', json(200, { error: { message: 'no' } }), 500, null, 'no'],
  ['an error with a status of success', json(200, { error: { http_code: 200, message: 'no' } }), 500, null, 'no'],
  ['not an object', json(200, [1]), 500, 'unexpected_failure', 'Error unmarshaling JSON output.'],
  ['400', json(400, {}), 500, 'unexpected_failure', 'Invalid payload sent to hook'],
  ['401', json(401, {}), 500, 'unexpected_failure', 'Hook requires authorization token'],
  ['404', json(404, {}), 500, 'unexpected_failure', 'Unexpected status code returned from hook: 404'],
  ['503', json(503, {}), 500, 'unexpected_failure', 'Service currently unavailable due to hook'],
  [
    'a redirect, which is not followed',
    (response) => response.writeHead(307, { Location: 'http://127.0.0.1:1/' }).end(),
    500,
    'unexpected_failure',
    'Unexpected status code returned from hook: 307',
  ],
  [
    'not JSON',
    (response) => response.writeHead(200, { 'Content-Type': 'application/json' }).end('{'),
    500,
    'unexpected_failure',
    'Error unmarshaling JSON output.',
  ],
  [
    'another type',
    json(200, {}, 'text/html'),
    400,
    'hook_payload_invalid_content_type',
    'Invalid JSON response. Received content-type: text/html',
  ],
  [
    'no type',
    (response) => response.writeHead(200).end('{}'),
    400,
    'hook_payload_invalid_content_type',
    'Invalid Content-Type: Missing Content-Type header',
  ],
  [
    'more than 200 KiB',
    json(200, { a: 'x'.repeat(200 * 1024) }),
    422,
    'hook_payload_over_size_limit',
    'Payload size exceeded size limit of 204800 bytes',
  ],
]

for (const [name, respond, status, code, message] of errors) {
  t.test(`${name} is an error`, async (t) => {
    const { call, received } = await start(t, respond)
    await fails(t, call(), status, code, message)
    t.equal(received.length, 1, 'it is not called again')
  })
}

t.test('a slow hook is given up', async (t) => {
  const { call } = await start(t, () => undefined)
  const message = 'Failed to reach hook within maximum time of 0.050000 seconds'
  await fails(t, call('{}', { timeout: 50 }), 422, 'hook_timeout', message)
})

t.test('a response that does not end is given up', async (t) => {
  const { call } = await start(t, (response) => {
    response.writeHead(200, { 'Content-Type': 'application/json' })
    response.write('{')
  })
  await fails(t, call('{}', { timeout: 300 }), 422, 'hook_timeout', /maximum time/)
})

t.test('a hook that cannot be reached is called three times, each time with its own id', async (t) => {
  const { call, received } = await start(t, (response, attempt) => {
    if (attempt < 3) response.destroy()
    else json(200, { done: true })(response, attempt)
  })
  t.match(await call(), { value: { done: true } })
  t.equal(new Set(received.map(({ headers }) => headers['webhook-id'])).size, 3)
  const broken = await start(t, (response) => response.destroy())
  await fails(t, broken.call(), 422, 'hook_timeout_after_retry', 'Failed to reach hook after maximum retries')
  t.equal(broken.received.length, 3)
})

t.test('a hook that asks for it is called again', async (t) => {
  const { call } = await start(t, (response, attempt) => {
    if (attempt === 1) response.writeHead(429, { 'Retry-After': '0' }).end()
    else if (attempt === 2) response.writeHead(503, { 'Retry-After': 'Wed, 21 Oct 2015 07:28:00 GMT' }).end()
    else json(200, { done: true })(response, attempt)
  })
  t.match(await call(), { value: { done: true } })
  const busy = await start(t, (response) => response.writeHead(503, { 'Retry-After': '0' }).end())
  await fails(t, busy.call(), 500, 'unexpected_failure', 'Service currently unavailable due to hook')
  t.equal(busy.received.length, 3)
})

const claims = {
  ...{ aud: 'authenticated', exp: 2, iat: 1, sub: 'a', email: '', phone: '', role: 'authenticated' },
  ...{ aal: 'aal1', session_id: 'b', is_anonymous: false },
}
const claimsOf = (value: Readonly<Record<string, unknown>>): string =>
  claimsOfHook({ value, text: JSON.stringify(value) }, JSON.stringify(claims))

t.test('a hook may add claims, and change their values', (t) => {
  const changed = { ...claims, role: 'editor', tenant: { id: 7 }, aud: ['a', 'b'], amr: [{ method: 'password' }] }
  t.strictSame(JSON.parse(claimsOf({ claims: changed })), changed)
  const text = '{"claims": {"n": 12345678901234567890}}'
  t.equal(
    claimsOfHook({ value: { claims: { ...claims, n: 1 } }, text }, JSON.stringify(claims)),
    '{"n": 12345678901234567890}',
  )
  t.end()
})

t.test('a hook must not remove claims that clients rely on, or change their types', (t) => {
  for (const name of Object.keys(claims)) {
    const rest = Object.fromEntries(Object.entries(claims).filter(([other]) => other !== name))
    const message = `output claims do not conform to the expected schema: \n- (root): ${name} is required\n`
    t.throws(() => claimsOf({ claims: rest }), { status: 500, message })
  }
  const wrong = { exp: '2', email: null, app_metadata: [], iss: 1 }
  t.throws(() => claimsOf({ claims: { ...claims, ...wrong } }), {
    message:
      /- exp: Invalid type. Expected: integer, given: string\n- app_metadata: .*array\n- iss: .*integer\n- email: .*null\n/,
  })
  const { email, ...unconfirmed } = claims
  t.equal(email, '')
  t.strictSame(
    claimsOfHook({ value: { claims: unconfirmed }, text: '{}' }, JSON.stringify(unconfirmed)),
    JSON.stringify(unconfirmed),
    'an address that the hook did not get need not come back',
  )
  t.throws(() => claimsOf({}), { status: 500, message: 'output claims field is missing' })
  t.throws(() => claimsOf({ claims: 'x' }), { status: 500, message: 'output claims must be an object' })
  t.end()
})
