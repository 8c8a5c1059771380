// Callers that forge, flood, hang up and drip; functions that fail beside others.
import { connect } from 'node:net'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import t from 'tap'
import { createApiKey } from '../../server/identity/api-key/api-key.ts'
import { newAddress, password } from '../support/auth.ts'
import { withClient } from '../support/database.ts'
import { clientWith, folderWith, startFunctionServer } from '../support/function-server.ts'
import { postHead, rawRequest } from '../support/raw-request.ts'
import { bearer, signToken } from '../support/token.ts'
import { until } from '../support/until.ts'

const folder = await folderWith(t, {
  'functions/echo/index.ts': `Deno.serve(async (request) => new Response(await request.text()))`,
  'functions/who/index.ts': `Deno.serve(async (request) => {
    const token = request.headers.get('Authorization') ?? ''
    await new Promise((resolve) => setTimeout(resolve, Math.random() * 20))
    return new Response(JSON.parse(atob(token.split('.')[1])).sub + ' ' + request.headers.get('x-request-id'))
  })`,
  'functions/slow/index.ts': `Deno.serve(async () => {
    await new Promise((resolve) => setTimeout(resolve, 1000))
    return new Response('slow')
  })`,
  'functions/spin/index.ts': `Deno.serve(() => { for (;;) {} })`,
  'functions/endless/index.ts': `Deno.serve(() => new Response(new ReadableStream({
    pull: (controller) => controller.enqueue(new Uint8Array(65536)),
  })))`,
  'functions/headers/index.ts': `Deno.serve(() => new Response('x', { headers: [
    ['connection', 'close, x-hidden'], ['x-hidden', '1'], ['transfer-encoding', 'chunked'], ['keep-alive', 'timeout=1'],
    ['set-cookie', 'a=1'], ['set-cookie', 'b=2'], ['x-seen', '1'],
    ['set-cookie', '__Host-session=forged; Path=/; Secure'], ['set-cookie', 'session =forged'], ['set-cookie', '=console=forged'],
  ] }))`,
  'functions/env/index.ts': `Deno.serve(() => Response.json([Deno.env.toObject(), process.env]))`,
})
const { url, database, call, service, reload } = await startFunctionServer(t, {
  FUNCTIONS_DIR: join(folder, 'functions'),
  FUNCTIONS_CONCURRENCY: '5',
  FUNCTIONS_TIMEOUT: '60',
  FUNCTIONS_MAX_RESPONSE_BYTES: '1mb',
  GOTRUE_MAILER_AUTOCONFIRM: 'true',
  SECRET_OF_THE_SERVER: 'secret',
})
const authorization = await bearer('authenticated')
const ask = (name: string, init: RequestInit = {}): Promise<Response> =>
  fetch(`${url}/functions/v1/${name}`, { ...init, headers: { authorization, ...(init.headers as object) } })
const running = (): number | undefined => service.functions?.figures().running

/** Begins a call that has three seconds. Others have a minute, as processes of functions start slowly on a busy machine. */
async function withThreeSeconds<T>(begin: () => T): Promise<T> {
  await reload({ FUNCTIONS_TIMEOUT: '3' })
  t.ok(await until(() => running() === 0))
  const begun = begin()
  t.ok(await until(() => running() === 1))
  await reload({ FUNCTIONS_TIMEOUT: '60' })
  return begun
}

t.test('a session that has ended calls nothing', async (t) => {
  const client = clientWith(url, await signToken({ role: 'anon' }))
  const { data } = await client.auth.signUp({ email: newAddress(), password })
  const token = data.session?.access_token ?? ''
  const asUser = { headers: { authorization: `Bearer ${token}` }, method: 'POST', body: 'x' }
  t.equal((await ask('echo', asUser)).status, 200)
  await client.auth.signOut({ scope: 'global' })
  const ended = await ask('echo', asUser)
  t.equal(ended.status, 401)
  t.strictSame(await ended.json(), { code: 401, message: 'Invalid JWT' })
})

t.test('API keys', async (t) => {
  const { key, id } = await withClient(database.adminUri, (client) =>
    createApiKey(client, { role: 'anon', label: 'x' }),
  )
  const body = { method: 'POST', body: 'x' }
  const withKey = await fetch(`${url}/functions/v1/echo`, { ...body, headers: { apikey: key } })
  t.equal(withKey.status, 200, 'as clients without a signed-in user send them')
  t.equal((await ask('echo', { ...body, headers: { authorization: `Bearer ${key}` } })).status, 200)
  await database.query(`update auth.api_keys set revoked_at = now() where id = '${id}'`)
  t.ok(
    await until(
      async () => (await fetch(`${url}/functions/v1/echo`, { ...body, headers: { apikey: key } })).status === 401,
    ),
    'a revoked key is refused',
  )
})

t.test('calls of many users at the same time keep apart', async (t) => {
  const users = Array.from({ length: 40 }, (_, index) => `user-${index}`)
  const answers: string[] = []
  const work = async (): Promise<void> => {
    for (let user = users.pop(); user !== undefined; user = users.pop()) {
      const response = await ask('who', {
        headers: {
          authorization: `Bearer ${await signToken({ role: 'authenticated', sub: user })}`,
          'x-request-id': `of-${user}`,
        },
      })
      answers.push(`${user} ${await response.text()}`)
    }
  }
  await Promise.all([1, 2, 3, 4].map(work))
  t.equal(answers.length, 40)
  t.strictSame(
    answers.filter((answer) => !/^(\S+) \1 of-\1$/.test(answer)),
    [],
  )
})

t.test('a flood of one function leaves room for others', async (t) => {
  const flood = Array.from({ length: 100 }, async () => {
    const response = await ask('slow')
    await response.arrayBuffer()
    return [response.status, response.headers.get('retry-after')].join()
  })
  await pause(200)
  t.equal((await ask('echo', { method: 'POST', body: 'still here' })).status, 200)
  t.match(await call('GET', '/health'), { status: 200 })
  const outcomes = await Promise.all(flood)
  const answered = outcomes.filter((it) => it === '200,').length
  t.ok(answered >= 5 && answered < 90, `${answered} were answered`)
  t.strictSame(
    outcomes.filter((it) => it !== '200,' && it !== '503,1'),
    [],
  )
})

t.test('an endless loop and an endless response end, and harm no other', async (t) => {
  const { spinning } = await withThreeSeconds(() => ({ spinning: ask('spin') }))
  t.equal(await (await ask('echo', { method: 'POST', body: 'meanwhile' })).text(), 'meanwhile')
  t.ok([504, 546].includes((await spinning).status), 'the call ends')
  const endless = await ask('endless')
  await t.rejects(endless.arrayBuffer(), 'the response breaks off')
  t.equal(await (await ask('echo', { method: 'POST', body: 'after' })).text(), 'after')
})

t.test('headers of the connection stay where they are, and cookies stay apart', async (t) => {
  const raw = rawRequest(
    url,
    `GET /functions/v1/headers HTTP/1.1\r\nHost: x\r\nAuthorization: ${authorization}\r\n\r\n`,
  )
  t.ok(await until(() => raw.text().includes('x-seen')))
  raw.socket.destroy()
  t.match(raw.text(), /^HTTP\/1\.1 200 OK\r\n/)
  t.notMatch(raw.text(), /x-hidden|timeout=1\b/i)
  t.match(raw.text(), /set-cookie: a=1\r\n[^]*set-cookie: b=2\r\n/i)
  t.notMatch(raw.text(), /forged/, 'those of the server are not replaced')
})

t.test('nothing of the server is in the environment', async (t) => {
  const [own, all] = (await (await ask('env')).json()) as [Record<string, string>, Record<string, string>]
  t.notOk('SECRET_OF_THE_SERVER' in own)
  const texts = JSON.stringify([own, all])
  t.notMatch(texts, /secret for tests|authenticator/)
  t.notOk('DATABASE_URL' in all)
})

t.test('clients that hang up, drip and stop', async (t) => {
  for (const wait of [0, 5, 50]) {
    const socket = connect(Number(new URL(url).port), '127.0.0.1')
    socket.on('error', () => undefined)
    socket.write(postHead('/functions/v1/echo', 1000, { Authorization: authorization }) + 'part')
    await pause(wait)
    socket.destroy()
  }
  const stopped = await withThreeSeconds(() =>
    rawRequest(url, postHead('/functions/v1/echo', 1000, { Authorization: authorization }) + 'part'),
  )
  t.ok(
    await until(() => /^HTTP\/1\.1 (?:408|504) /.test(stopped.text())),
    'a body that stops ends with the time of the call',
  )
  stopped.socket.destroy()
  for (const wait of [0, 5, 50]) {
    const ending = new AbortController()
    const call = ask('slow', { signal: ending.signal })
    await pause(wait)
    ending.abort()
    await t.rejects(call)
  }
  t.ok(await until(() => running() === 0), 'no call is left')
  t.equal(await (await ask('echo', { method: 'POST', body: 'after' })).text(), 'after')
})

t.test('clients hang up while functions are loaded for the first time', async (t) => {
  const { url, service, logged } = await startFunctionServer(t, {
    FUNCTIONS_DIR: join(folder, 'functions'),
    FUNCTIONS_TIMEOUT: '60',
  })
  await Promise.all(
    Array.from({ length: 20 }, async (_, n) => {
      const isHalf = n % 2 === 0
      const { socket } = rawRequest(
        url,
        postHead('/functions/v1/echo', isHalf ? 1000 : 4, { Authorization: authorization }) + 'part',
      )
      await pause(n)
      socket.destroy()
    }),
  )
  const response = await fetch(`${url}/functions/v1/echo`, {
    method: 'POST',
    headers: { authorization },
    body: 'after',
  })
  t.equal(await response.text(), 'after')
  t.ok(await until(() => service.functions?.figures().running === 0), 'no call is left')
  t.strictSame(
    logged().filter(({ level }) => level === 'error'),
    [],
  )
})

t.test('a body in chunks of one byte', async (t) => {
  const body = '~'.repeat(50_000)
  const chunks = Array.from(body, (sign) => `1\r\n${sign}\r\n`).join('')
  const head = postHead('/functions/v1/echo', 0, { Authorization: authorization, 'Transfer-Encoding': 'chunked' })
  await ask('echo', { method: 'POST', body: 'the process runs' })
  let received = ''
  const { socket, text } = rawRequest(url, `${head}${chunks}0\r\n\r\n`)
  await until(() => (received = text()).length > body.length)
  socket.destroy()
  t.match(received, /^HTTP\/1\.1 200 /)
  t.equal(received.split('~').length - 1, body.length)
})

t.test('requests that are two', async (t) => {
  const smuggled = `POST /functions/v1/echo HTTP/1.1\r\nHost: x\r\nAuthorization: ${authorization}\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nGET /functions/v1/env HTTP/1.1\r\nHost: x\r\n\r\n`
  const raw = rawRequest(url, smuggled)
  t.match(await raw.closed, /^HTTP\/1\.1 400 /)
})
