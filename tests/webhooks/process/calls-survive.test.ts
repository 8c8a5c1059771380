// Outgoing calls while the sender, the database and the receiver are killed: none is lost, doubles have the same id, and the calls of
// a key arrive in order. `CALLS=100000` sends so many, with a kill for every tenth of them.
import { createServer, type Server } from 'node:http'
import { setTimeout as pause } from 'node:timers/promises'
import { Webhook } from 'standardwebhooks'
import t from 'tap'
import { migrate } from '../../../server/postgres/migrate.ts'
import { withClient } from '../../support/database.ts'
import { freePort } from '../../support/free-port.ts'
import { startReplication } from '../../support/replication.ts'
import { startSendingProcess, type SendingProcess } from '../../support/sending-process.ts'
import { until } from '../../support/until.ts'

const calls = Number(process.env.CALLS ?? 2000)
const isLong = calls > 10_000
const customers = 50
/** Rows of a transaction. */
const size = Math.min(1000, Math.ceil(calls / 20))
/** Milliseconds. */
const timeout = isLong ? 3_600_000 : 300_000

const { primary } = await startReplication(t, 0)
await withClient(primary.uri(), (client) => migrate(client))
const port = await freePort()
await primary.query(`alter role authenticator password 'authenticator';
  select rowhouse.create_webhook_secret('orders');
  create table public.orders (id int primary key, customer int not null);
  create trigger hook after insert on public.orders referencing new table as changed_rows for each statement
    execute function rowhouse.webhook('http://127.0.0.1:${port}/hook', '{"key": "customer", "secret": "orders"}')`)
// The other tests of these servers are too short for it.
await primary.query('alter system set autovacuum = on')
await primary.query('select pg_reload_conf()')
const [{ secret } = { secret: '' }] = await primary.query('select secret from rowhouse.webhook_secrets')
const verifier = new Webhook(String(secret))

type Order = { readonly id: number; readonly customer: number }

/** What has arrived: the id of the call of each order, and how often in all. */
const callOf = new Map<number, string>()
const lastOf = new Map<number, number>()
const faults: string[] = []
let arrivals = 0

function arrive(body: string, headers: Record<string, string>): void {
  const { record } = verifier.verify(body, headers) as { record: Order }
  const id = headers['webhook-id'] ?? ''
  arrivals++
  if ((callOf.get(record.id) ?? id) !== id) faults.push(`order ${record.id} has two calls`)
  callOf.set(record.id, id)
  const last = lastOf.get(record.customer) ?? -1
  if (record.id < last) faults.push(`order ${record.id} of customer ${record.customer} came after ${last}`)
  lastOf.set(record.customer, record.id)
}

/** Listens until it is killed. Some responses are lost, and some are errors. */
async function startReceiver(): Promise<() => Promise<void>> {
  const server: Server = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      try {
        arrive(Buffer.concat(chunks).toString(), request.headers as Record<string, string>)
      } catch (error) {
        faults.push(String(error))
      }
      if (arrivals % 97 === 0) request.socket.destroy()
      else response.writeHead(arrivals % 89 === 0 ? 500 : 200).end()
    })
  })
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve))
  return () =>
    new Promise((resolve) => {
      server.close(() => resolve())
      server.closeAllConnections()
    })
}

const startSender = (): Promise<SendingProcess> => startSendingProcess(t, primary.uri('authenticator:authenticator'))

t.test('calls survive', { timeout }, async (t) => {
  let killReceiver = await startReceiver()
  t.teardown(() => killReceiver())
  const senders = [await startSender(), await startSender()]
  let failedInserts = 0

  const inserting = (async () => {
    const insert = (first: number, end: string): Promise<unknown> =>
      primary.query(`begin;
        insert into orders select id, id % ${customers} from generate_series(${first}, ${first + size - 1}) id on conflict do nothing;
        ${end}`)
    for (let first = 0; first < calls; first += size) {
      // What is rolled back must not arrive.
      if ((first / size) % 7 === 3) await insert(calls + first, 'rollback').catch(() => undefined)
      for (let isCommitted = false; !isCommitted;) {
        isCommitted = await insert(first, 'commit').then(
          () => true,
          () => false,
        )
        if (isCommitted) continue
        failedInserts++
        await pause(100)
      }
    }
  })()

  const kills = {
    sender: async () => {
      for (const [index, sender] of senders.entries()) {
        if (!(await sender.isSending())) continue
        sender.program.kill('SIGKILL')
        await sender.program.ended
        senders[index] = await startSender()
        return
      }
    },
    receiver: async () => {
      await killReceiver()
      await pause(500)
      killReceiver = await startReceiver()
    },
    database: async () => {
      await primary.kill()
      // Its processes end a moment after it.
      await until(() =>
        primary.start().then(
          () => true,
          () => false,
        ),
      )
    },
  } as const
  const order = (['sender', 'receiver', 'database'] as const).map((name) => ({ name, kill: kills[name] }))
  const since = performance.now()
  const done: string[] = []
  const step = isLong ? calls / 10 : calls / 4
  for (let turn = 1; turn * step < calls; turn++) {
    while (callOf.size < turn * step) await pause(20)
    const next = order[(turn - 1) % order.length]
    await next?.kill()
    done.push(`${next?.name} after ${callOf.size}`)
  }
  await inserting
  const openCalls = "select count(*)::int as open from rowhouse.calls where state <> 'delivered'"
  while ((await primary.query(openCalls))[0]?.open !== 0) await pause(200)
  const seconds = (performance.now() - since) / 1000

  const orders = await primary.query('select id from orders order by id')
  const stored = await primary.query("select 'msg_' || id as id from rowhouse.calls")
  t.strictSame(
    [...callOf.keys()].sort((one, other) => one - other),
    orders.map(({ id }) => id),
    'none is lost, and none was rolled back',
  )
  t.strictSame([...callOf.values()].sort(), stored.map(({ id }) => String(id)).sort(), 'doubles have the same id')
  t.strictSame(faults.slice(0, 10), [], 'the calls of a customer arrive in order')
  t.equal(orders.length, Math.ceil(calls / size) * size)
  t.comment(
    `${orders.length} calls in ${seconds.toFixed(1)} s, ${arrivals - callOf.size} doubles, ${failedInserts} failed inserts; killed the ${done.join(', the ')}`,
  )
})
