// The sender of outgoing calls: delivery, retries, order, receivers that hold others up, and several processes.
import { Webhook } from 'standardwebhooks'
import t from 'tap'
import { addCall, callInState, newSender, storedCall } from '../support/calls.ts'
import { createMigratedDatabase } from '../support/database.ts'
import { freePort } from '../support/free-port.ts'
import { startRawReceiver, startReceiver } from '../support/receiver.ts'
import { until } from '../support/until.ts'

const database = await createMigratedDatabase()
t.teardown(() => database.drop())
const uri = database.authenticatorUri

const removeCalls = () => database.query('delete from rowhouse.calls; delete from rowhouse.leases')

t.test('delivers a signed call, and records the response', async (t) => {
  await removeCalls()
  await database.query("select rowhouse.create_webhook_secret('orders')")
  await database.query("select rowhouse.replace_webhook_secret('orders')")
  const { rows } = await database.query('select secret from rowhouse.webhook_secrets order by id')
  const [older, newer] = rows.map(({ secret }) => String(secret))
  const { received, url } = await startReceiver(t, (_, response) =>
    response.writeHead(202, { 'Content-Type': 'text/plain' }).end('accepted\0'),
  )
  const sender = newSender(t, uri)
  const body = '{"type": "INSERT", "record": {"name": "Grüße"}}'
  const id = await addCall(database, {
    url: `${url}/hook`,
    headers: { 'X-Key': 'k', 'Webhook-Id': 'forged', Host: 'other.example' },
    body,
    secret: 'orders',
  })
  sender.wake()
  const row = await callInState(database, id, 'delivered')
  t.match(row, {
    attempts: 1,
    last_status: 202,
    last_error: null,
    response: 'accepted\u{fffd}',
    response_type: 'text/plain',
  })
  t.equal(received.length, 1)
  const [{ headers, ...call } = { headers: {} }] = received
  t.match(call, { method: 'POST', path: '/hook', body })
  t.match(headers, { 'x-key': 'k', 'webhook-id': `msg_${id}`, 'webhook-attempt': '1', 'webhook-depth': '1' })
  t.match(headers['user-agent'], /^rowhouse-webhooks\//)
  t.equal(headers.host, 'other.example', 'as pg_net sends it')
  for (const secret of [older, newer]) {
    const verified: unknown = new Webhook(secret ?? '').verify(body, headers as Record<string, string>)
    t.strictSame(verified, JSON.parse(body))
  }
  // The sender learns a moment later what it has recorded.
  t.ok(await until(() => sender.statistics.sending === 0))
  t.match(sender.statistics, { attempts: 1, delivered: 1, dead: 0, sending: 0 })
  t.strictSame([sender.errors, sender.warnings], [[], []])
})

t.test('what net.http_post returns finds its response in net._http_response', async (t) => {
  await removeCalls()
  const { received, url } = await startReceiver(t, ({ path }, response) =>
    response.writeHead(path === '/missing' ? 404 : 200, { 'Content-Type': 'application/json' }).end('{"ok":true}'),
  )
  const sender = newSender(t, uri)
  const { rows } = await database.query(
    `select net.http_post($1, '{"a": 1}') as posted, net.http_get($2) as missing, net.http_get('http://127.0.0.2/') as refused`,
    [`${url}/`, `${url}/missing`],
  )
  const ids = rows[0] as { posted: string; missing: string; refused: string }
  sender.wake()
  const responses = async (): Promise<Record<string, unknown>[]> =>
    (await database.query('select * from net._http_response order by id')).rows
  t.ok(await until(async () => (await responses()).length === 3))
  t.match(await responses(), [
    { id: ids.posted, status_code: 200, content: '{"ok":true}', timed_out: false, error_msg: null },
    { id: ids.missing, status_code: 404, content: '{"ok":true}', content_type: 'application/json', error_msg: null },
    { id: ids.refused, status_code: null, error_msg: /127\.0\.0\.2 is not a public address; WEBHOOKS_ALLOWED_HOSTS/ },
  ])
  t.equal(received.length, 2, 'each was sent once, whatever the response')
})

t.test("net._http_response has the names of headers as they are written, and errors in pg_net's words", async (t) => {
  await removeCalls()
  await database.query('delete from net._http_response')
  const { url, port } = await startReceiver(t, ({ path }, response) => {
    if (path === '/ended') response.destroy()
    else if (path === '/names')
      response
        .writeHead(200, ['Missing-Value', '', 'X-Twice', 'a', 'x-twice', 'b'])
        .end(response.req.rawHeaders.join('\n'))
    // Otherwise, it does not respond.
  })
  const broken = await startRawReceiver(t, (socket) => socket.end('HTTP/1.1 200 OK\r\nX A\r\n b: c\r\n\r\n'))
  const closed = `http://127.0.0.1:${await freePort()}/`
  const sender = newSender(t, uri, { webhooksAllowedHosts: ['127.0.0.1', 'localhost'] })
  const { rows } = await database.query(
    `select net.http_get($1, headers := '{"X-Baz": "foo", "User-Agent": "own", "x-bAZ": "later"}') as names,
       net.http_get($2) as ended, net.http_get($3) as broken, net.http_get($4) as closed,
       net.http_get($5, timeout_milliseconds := 3000) as late, net.http_get('http://no-such-host.invalid/') as unknown`,
    [`${url}/names`, `${url}/ended`, broken, closed, `http://localhost:${port}/late`],
  )
  const ids = rows[0] as Record<string, string>
  sender.wake()
  const responses = async () => (await database.query('select * from net._http_response')).rows
  t.ok(await until(async () => (await responses()).length === 6))
  const found = await responses()
  const of = (name: string) => found.find(({ id }) => id === ids[name])
  const names = of('names')
  t.match(names, { status_code: 200, headers: { 'Missing-Value': '', 'X-Twice': 'a, b' } })
  const sent = String(names?.content).split('\n')
  t.strictSame(
    sent.filter((_, index) => index % 2 === 0).filter((name) => /baz|agent/i.test(name)),
    ['User-Agent', 'x-bAZ'],
  )
  t.ok(sent.includes('later') && sent.includes('own'))
  for (const [name, message] of [
    ['ended', 'Server returned nothing (no headers, no data)'],
    ['broken', 'Weird server reply'],
    ['closed', "Couldn't connect to server"],
    ['unknown', "Couldn't resolve host name"],
  ] as const) {
    t.match(of(name), { status_code: null, timed_out: false, error_msg: message }, name)
  }
  const late = of('late')
  t.match(late, { status_code: null, timed_out: true })
  const [, ...times] =
    /^Timeout of 3000 ms reached\. Total time: ([\d.]+) ms \(DNS time: ([\d.]+) ms, TCP\/SSL handshake time: ([\d.]+) ms, HTTP Request\/Response time: ([\d.]+) ms\)$/.exec(
      String(late?.error_msg),
    ) ?? []
  const [total = 0, ...parts] = times.map(Number)
  t.ok(total >= 2999 && parts.length === 3 && parts.every((part) => part > 0), String(late?.error_msg))
  t.ok(Math.abs(total - parts.reduce((sum, part) => sum + part, 0)) < 0.01)
  const { rows: kept } = await database.query('select last_error from rowhouse.calls where request_id = $1', [
    ids.closed,
  ])
  t.match(kept, [{ last_error: /ECONNREFUSED/ }], 'the call itself keeps the error with the address')
})

t.test('sends again with growing pauses and the same id, until the receiver accepts', async (t) => {
  await removeCalls()
  const { received, url } = await startReceiver(t, (_, response) =>
    response.writeHead(received.length < 3 ? 500 : 204).end('no'),
  )
  const sender = newSender(t, uri)
  const id = await addCall(database, { url })
  sender.wake()
  const waiting = await callInState(database, id, 'waiting')
  t.ok(waiting)
  t.match(await callInState(database, id, 'delivered'), { attempts: 3, last_status: 204 })
  t.strictSame(
    received.map(({ headers }) => [headers['webhook-id'], headers['webhook-attempt']]),
    ['1', '2', '3'].map((attempt) => [`msg_${id}`, attempt]),
  )
  t.ok((received[2]?.at ?? 0) - (received[0]?.at ?? 0) >= 1500, 'with pauses')
  t.ok(await until(() => sender.statistics.sending === 0))
  t.match(sender.statistics, { attempts: 3, delivered: 1, failed: 2 })
})

t.test('puts aside what is refused, gone, or failed too often, with the reason and a line in the log', async (t) => {
  await removeCalls()
  const { received, url } = await startReceiver(t, ({ path }, response) =>
    response.writeHead(path === '/gone' ? 410 : 503).end(),
  )
  const sender = newSender(t, uri, { webhooksMaxAttempts: 2 })
  const ids = {
    gone: await addCall(database, { url: `${url}/gone` }),
    busy: await addCall(database, { url: `${url}/busy` }),
    metadata: await addCall(database, { url: 'http://169.254.169.254/latest/meta-data/?key=secret' }),
    local: await addCall(database, { url: 'http://127.0.0.2/' }),
    header: await addCall(database, { url, headers: { 'X-A': 'a\u0001' } }),
  }
  sender.wake()
  for (const [name, attempts, reason] of [
    ['gone', 1, /^the receiver responded with 410 Gone$/],
    ['busy', 2, /^the receiver responded with 503 Service Unavailable; attempt 2 was the last one$/],
    ['metadata', 1, /^169\.254\.169\.254 is not a public address; WEBHOOKS_ALLOWED_HOSTS can allow it$/],
    ['local', 1, /^127\.0\.0\.2 is not a public address/],
    ['header', 1, /Invalid character in header content/],
  ] as const) {
    t.match(await callInState(database, ids[name], 'dead'), { attempts, last_error: reason }, name)
  }
  t.equal(received.length, 3)
  await sender.stop()
  t.match(sender.warnings[0], /^An outgoing call was put aside: call \S+ of webhook public\.orders\.hook, POST \S+: /)
  const counts = sender.warnings.map((warning) => Number(/^(\d+) more outgoing calls were put/.exec(warning)?.[1] ?? 1))
  t.equal(
    counts.reduce((sum, count) => sum + count, 0),
    5,
  )
  t.ok(counts.length < 5, 'not each has its line')
  t.notMatch(sender.warnings.join('\n'), /secret/)
  const again = newSender(t, uri)
  await database.query('select rowhouse.resend_call($1)', [ids.gone])
  again.wake()
  t.ok(await until(() => received.length === 4), 'it can be sent again')
})

t.test('a call whose secret is missing waits', async (t) => {
  await removeCalls()
  const { received, url } = await startReceiver(t, (_, response) => response.end())
  const sender = newSender(t, uri)
  const id = await addCall(database, { url, secret: 'later' })
  sender.wake()
  t.ok(await until(async () => (await storedCall(database, id)).last_error !== null))
  t.match(await storedCall(database, id), { last_error: 'the secret "later" does not exist or has expired' })
  t.equal(received.length, 0, 'it is not sent without a signature')
  await database.query("select rowhouse.create_webhook_secret('later')")
  await callInState(database, id, 'delivered')
  t.ok(received[0]?.headers['webhook-signature'])
})

t.test('calls with the same key arrive one after the other, and a dead one does not hold up the others', async (t) => {
  await removeCalls()
  const open = new Set<string>()
  let most = 0
  const { received, url } = await startReceiver(t, ({ body }, response) => {
    const { key = '', number = 0 } = JSON.parse(body) as { key?: string; number?: number }
    if (open.has(key)) t.fail(`two calls of ${key} at once`)
    open.add(key)
    most = Math.max(most, open.size)
    setTimeout(() => {
      open.delete(key)
      // The third call of each key fails for ever, and the fifth once.
      const isFailing = number === 3 || (number === 5 && received.filter((it) => it.body === body).length === 1)
      response.writeHead(isFailing ? 500 : 200).end()
    }, 5)
  })
  const sender = newSender(t, uri, { webhooksMaxAttempts: 3 })
  for (let number = 1; number <= 6; number++) {
    for (const key of ['a', 'b', 'c', 'd', 'e', 'f']) {
      await addCall(database, { url, key, body: JSON.stringify({ key, number }) })
    }
  }
  sender.wake()
  const open_ = "select count(*)::int as open from rowhouse.calls where state in ('waiting', 'sending')"
  t.ok(await until(async () => (await database.query(open_)).rows[0]?.open === 0))
  t.ok(most > 1, 'several keys at once')
  for (const key of ['a', 'b', 'c', 'd', 'e', 'f']) {
    const numbers = received
      .map(({ body }) => JSON.parse(body) as { key: string; number: number })
      .filter((call) => call.key === key)
      .map((call) => call.number)
    t.strictSame(
      [...numbers].sort((one, other) => one - other),
      numbers,
      `${key} in order`,
    )
    t.equal(numbers.filter((number) => number === 3).length, 3, 'the third was tried three times')
    t.equal(numbers.filter((number) => number === 5).length, 2, 'the fifth twice')
    t.strictSame([...new Set(numbers)], [1, 2, 3, 4, 5, 6])
  }
})

t.test('a slow receiver with many calls does not hold up another one', async (t) => {
  await removeCalls()
  const held: (() => void)[] = []
  const slow = await startReceiver(t, (_, response) => void held.push(() => response.end()))
  const brisk = await startReceiver(t, (_, response) => response.end())
  const sender = newSender(t, uri, { webhooksHostConcurrency: 4, webhooksConcurrency: 8 })
  for (let number = 0; number < 50; number++) await addCall(database, { url: slow.url, timeout: 30_000 })
  sender.wake()
  t.ok(await until(() => held.length === 4))
  const ids: string[] = []
  for (let number = 0; number < 20; number++) ids.push(await addCall(database, { url: brisk.url }))
  sender.wake()
  t.ok(await until(() => brisk.received.length === 20))
  t.equal(slow.received.length, 4, 'no more than so many at once')
  const answer = setInterval(() => held.splice(0).forEach((end) => end()), 5)
  t.ok(await until(() => slow.received.length === 50))
  await until(async () => sender.statistics.sending === 0)
  clearInterval(answer)
})

t.test('of two processes one sends, and the other takes over', async (t) => {
  await removeCalls()
  const { received, url } = await startReceiver(t, (_, response) => response.end())
  const [one, two] = [newSender(t, uri), newSender(t, uri)]
  const first = await addCall(database, { url })
  one.wake()
  await callInState(database, first, 'delivered')
  const second = await addCall(database, { url })
  two.wake()
  one.wake()
  await callInState(database, second, 'delivered')
  t.ok(await until(() => one.statistics.sending === 0))
  t.strictSame([one.statistics.delivered, two.statistics.delivered], [2, 0])
  await one.stop()
  const third = await addCall(database, { url })
  two.wake()
  await callInState(database, third, 'delivered')
  t.ok(await until(() => two.statistics.sending === 0))
  t.strictSame([one.statistics.delivered, two.statistics.delivered], [2, 1])
  t.equal(received.length, 3)
})

t.test(
  'a process that has lost the lease records nothing, and its calls are sent again with the same id',
  async (t) => {
    await removeCalls()
    const held: (() => void)[] = []
    const { received, url } = await startReceiver(t, (_, response) => {
      if (received.length === 1) held.push(() => response.writeHead(500).end('of the first'))
      else response.end('of the second')
    })
    const [one, two] = [newSender(t, uri), newSender(t, uri)]
    const id = await addCall(database, { url })
    one.wake()
    t.ok(await until(() => held.length === 1))
    // As after a pause of the process that is longer than the lease.
    await database.query("update rowhouse.leases set until = now() - interval '1 second'")
    await addCall(database, { url, body: 'other' })
    two.wake()
    t.match(await callInState(database, id, 'delivered'), { attempts: 2, response: 'of the second' })
    held.forEach((respond) => respond())
    t.ok(await until(() => one.statistics.sending === 0))
    t.match(await storedCall(database, id), { state: 'delivered', attempts: 2, response: 'of the second' })
    const ids = received.filter(({ body }) => body === '{}').map(({ headers }) => headers['webhook-id'])
    t.strictSame(ids, [`msg_${id}`, `msg_${id}`])
  },
)

t.test('a claim whose rows never arrive is repeated', async (t) => {
  await removeCalls()
  const { received, url } = await startReceiver(t, (_, response) => response.end())
  const sender = newSender(t, uri)
  const first = await addCall(database, { url })
  sender.wake()
  await callInState(database, first, 'delivered')
  const second = await addCall(database, { url })
  // What the statement would have done before its connection was lost.
  await database.query(
    `update rowhouse.calls set state = 'sending', attempts = 1, last_attempt_at = now(),
       holder = (select holder from rowhouse.leases) where id = $1`,
    [second],
  )
  await addCall(database, { url })
  sender.wake()
  t.match(await callInState(database, second, 'delivered'), { attempts: 2 })
  t.equal(received.length, 3)
})

t.test('ends calls in flight when the server ends, without counting them as failures of the receiver', async (t) => {
  await removeCalls()
  const { received, url } = await startReceiver(t, () => undefined)
  const sender = newSender(t, uri)
  const [id, once] = [
    await addCall(database, { url, timeout: 30_000 }),
    await addCall(database, { url, timeout: 30_000, retries: false }),
  ]
  sender.wake()
  t.ok(await until(() => received.length === 2))
  const since = performance.now()
  await sender.stop()
  t.ok(performance.now() - since < 25_000, 'before the calls take too long')
  for (const one of [id, once]) t.match(await storedCall(database, one), { state: 'waiting', attempts: 1 })
  t.strictSame((await database.query('select * from rowhouse.leases')).rows, [], 'the lease is given back')
})

t.test('connections that are lost in between lose no call', async (t) => {
  await removeCalls()
  const { received, url } = await startReceiver(t, (_, response) => setTimeout(() => response.end(), 60))
  const sender = newSender(t, uri)
  const ids: string[] = []
  for (let number = 0; number < 200; number++) {
    ids.push(await addCall(database, { url, key: `key ${number % 20}`, body: String(number) }))
  }
  sender.wake()
  const kill = `select pg_terminate_backend(pid) from pg_stat_activity
    where datname = current_database() and usename = 'authenticator'`
  const killing = setInterval(() => void database.query(kill), 400)
  const left = "select count(*)::int as left from rowhouse.calls where state <> 'delivered'"
  t.ok(await until(async () => received.length >= 150))
  clearInterval(killing)
  t.ok(await until(async () => (await database.query(left)).rows[0]?.left === 0))
  const byId = new Map<unknown, Set<string>>()
  for (const { headers, body } of received) {
    const bodies = byId.get(headers['webhook-id']) ?? new Set()
    byId.set(headers['webhook-id'], bodies.add(body))
  }
  t.equal(byId.size, 200, 'none is lost')
  t.ok(
    [...byId.values()].every((bodies) => bodies.size === 1),
    'doubles have the same id',
  )
  t.comment(`${received.length - 200} of 200 calls arrived twice`)
})

t.test('an outcome that the database refuses does not hold up others', async (t) => {
  await removeCalls()
  await database.query(`create function public.refuse() returns trigger language plpgsql as
    $$ begin if new.response = 'poison' then raise 'refused'; end if; return new; end $$;
    create trigger refuse before update on rowhouse.calls for each row execute function public.refuse()`)
  t.teardown(() => database.query('drop function public.refuse() cascade'))
  const { url } = await startReceiver(t, ({ path }, response) => response.end(path === '/poison' ? 'poison' : 'ok'))
  const sender = newSender(t, uri)
  const [poison, other] = [await addCall(database, { url: `${url}/poison` }), await addCall(database, { url })]
  sender.wake()
  t.match(await callInState(database, other, 'delivered'), { response: 'ok' })
  t.match(await callInState(database, poison, 'delivered'), { last_error: 'the response could not be recorded' })
  t.ok(sender.errors.length > 0)
})
