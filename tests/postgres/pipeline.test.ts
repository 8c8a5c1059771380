import { connect, createServer, type AddressInfo, type Socket } from 'node:net'
import t, { type Test } from 'tap'
import type pg from 'pg'
import { LibpqClient } from '../../server/postgres/connection/pool-config.ts'
import { toPoolConfig } from '../../server/running/connection-setting.ts'
import { intercept } from '../../server/postgres/protocol/incoming.ts'
import { runPipeline, StatementError } from '../../server/postgres/protocol/pipeline.ts'
import { PipelineClient } from '../../server/postgres/protocol/pipeline-client.ts'
import { PipelineQuery } from '../../server/postgres/protocol/pipeline-query.ts'
import type { QueuedTransaction } from '../../server/postgres/protocol/queued-transaction.ts'
import type { PipelinePart } from '../../server/postgres/protocol/pipeline-part.ts'
import type { StreamedField } from '../../server/postgres/protocol/streamed-field.ts'
import type { Flow, RawRow, RowReceiver } from '../../server/rest/row-transfer.ts'
import { createDatabase } from '../support/database.ts'
import { until } from '../support/until.ts'

const database = await createDatabase()
const client = new PipelineClient({ connectionString: database.adminUri })
await client.connect()
t.teardown(async () => {
  await client.end()
  await database.drop()
})

const statement = (text: string, ...values: (string | Buffer | null)[]) => ({ text, values })
const texts = (results: readonly (readonly (Buffer | null)[])[][]) =>
  results.map((rows) => rows.map((row) => row.map((field) => field?.toString() ?? null)))

const serverError = (running: Promise<unknown>) =>
  running.then(
    () => undefined,
    (error: unknown) => (error instanceof StatementError ? error.server : error),
  )

for (const prepare of [true, false]) {
  t.test(`prepared statements ${prepare ? 'on' : 'off'}`, async (t) => {
    t.test('one part is one transaction with local settings', async (t) => {
      const part = [
        statement(
          "select set_config('request.method', $1, true), set_config('transaction_read_only', 'on', true)",
          'GET',
        ),
        statement("select current_setting('request.method'), $1::int + 1, null", '41'),
      ]
      for (let time = 0; time < 3; time++) {
        const results = texts(await runPipeline(client, [part], prepare))
        t.strictSame(results[1], [['GET', '42', null]])
      }
      const after = texts(
        await runPipeline(client, [[statement("select current_setting('request.method', true)")]], prepare),
      )
      t.strictSame(after, [[['']]], 'the setting ended with its transaction')
    })

    t.test('an error rolls back the part and leaves the connection usable', async (t) => {
      await runPipeline(client, [[statement('create table if not exists undone (id int)')]], prepare)
      const part = [
        statement('insert into undone values ($1)', '1'),
        statement('select 1 / $1::int', '0'),
        statement('select 3'),
      ]
      t.match(await serverError(runPipeline(client, [part], prepare)), { code: '22012', message: 'division by zero' })
      const again = texts(
        await runPipeline(client, [[statement('select count(*) from undone'), statement('select 3')]], prepare),
      )
      t.strictSame(again, [[['0']], [['3']]])
    })

    t.test('a part that starts with BEGIN is ended by the next', async (t) => {
      const open = [statement('begin isolation level serializable'), statement('show transaction_isolation')]
      const results = texts(await runPipeline(client, [open, [statement('rollback')]], prepare))
      t.strictSame(results, [[], [['serializable']], []])
      await t.rejects(
        runPipeline(client, [[statement('begin'), statement('select nothing')], [statement('commit')]], prepare),
        StatementError,
      )
      const { rows } = await client.query('select 1 as one')
      t.strictSame(rows, [{ one: 1 }], 'pg itself still works')
    })

    t.test('large values are sent and received', async (t) => {
      const text = 'ä"€\u{1f600}\\'.repeat(200_000)
      const results = await runPipeline(
        client,
        [[statement('select $1::text, $2::bytea', text, Buffer.from([0, 255]))]],
        prepare,
      )
      t.equal(results[0]?.[0]?.[0]?.toString(), text)
      t.equal(results[0]?.[0]?.[1]?.toString(), '\\x00ff')
    })

    t.test('many rows', async (t) => {
      const results = await runPipeline(client, [[statement('select i from generate_series(1, 100000) i')]], prepare)
      t.equal(results[0]?.length, 100_000)
      t.equal(results[0]?.at(-1)?.[0]?.toString(), '100000')
    })
  })
}

t.test('statements that the server has deallocated are prepared again', async (t) => {
  const part = [statement('select 1 + $1::int', '1')]
  await runPipeline(client, [part], true)
  await client.query('deallocate all')
  t.strictSame(texts(await runPipeline(client, [part], true)), [[['2']]])
})

t.test('a changed result type is not an error', async (t) => {
  await client.query('create table changing (a int); insert into changing values (1)')
  const part = [statement('select * from changing')]
  t.strictSame(texts(await runPipeline(client, [part], true)), [[['1']]])
  await client.query("alter table changing add b text default 'x'")
  t.strictSame(texts(await runPipeline(client, [part], true)), [[['1', 'x']]])
})

t.test('a lost connection rejects the pipeline', async (t) => {
  const other = new PipelineClient({ connectionString: database.adminUri })
  other.on('error', () => undefined)
  await other.connect()
  // Handled from here on, because it may be rejected before the termination is answered.
  const error = serverError(runPipeline(other, [[statement('select pg_sleep(30)')]], true))
  const pid = (other as unknown as { processID: number }).processID
  await new Promise((resolve) => setTimeout(resolve, 100))
  await client.query('select pg_terminate_backend($1)', [pid])
  t.match(await error, { severity: 'FATAL', code: '57P01' })
})

/** Receives rows for a reader that has too much whenever rows arrive, and takes all that it gets as long as more may come. */
function slowReceiver() {
  const state = { rows: 0, flow: undefined as Flow | undefined }
  const receiver: RowReceiver = {
    namesOf: undefined,
    get hasBegun() {
      return state.flow !== undefined
    },
    names: () => undefined,
    columns: () => true,
    row: (_buffer, _start, _end, flow) => {
      state.flow = flow
      state.rows++
      return true
    },
    flush: () => state.flow?.pause(),
    measureRate: () => Infinity,
    giveUp: () => undefined,
  }
  return { state, receiver }
}

const streamOf = (one: PipelineClient) => (one as unknown as { connection: pg.Connection }).connection.stream as Socket
const rowsFor = (receiver: RowReceiver) => ({ ...statement('select i::text from generate_series(1, 10) i'), receiver })

t.test('a reader that has too much at the end does not hold up the connection', async (t) => {
  const { state, receiver } = slowReceiver()
  await runPipeline(client, [[rowsFor(receiver)]], true, { hasReceiver: true })
  t.equal(state.rows, 10)
  t.notOk(streamOf(client).isPaused())
  const next = await runPipeline(client, [[statement('select 1')]], true)
  t.strictSame(texts(next), [[['1']]])
  state.flow?.pause()
  t.notOk(streamOf(client).isPaused(), 'the connection belongs to others now')
  streamOf(client).pause()
  state.flow?.resume()
  t.ok(streamOf(client).isPaused(), 'another transaction has paused it')
  streamOf(client).resume()
})

t.test('nor those behind it that share the connection', async (t) => {
  const { receiver } = slowReceiver()
  const query = new PipelineQuery(client.statements, () => undefined)
  const add = (part: PipelinePart, hasReceiver: boolean): Promise<RawRow[][]> =>
    new Promise((resolve, reject) => {
      const settle: QueuedTransaction['settle'] = (error, results) => (error ? reject(error) : resolve(results))
      query.add({ parts: [part], hasReceiver, settle })
    })
  const first = add([rowsFor(receiver)], true)
  // Arrives after the end of the first one.
  const second = add([statement("select pg_sleep(0.2), 'second'")], false)
  client.query(query)
  await first
  t.equal(texts(await second)[0]?.[0]?.[1], 'second')
  t.notOk(streamOf(client).isPaused())
})

/** A client that receives what follows the first bytes of a response in one piece, when it has read those. */
async function receivingRestAtOnce(t: Pick<Test, 'teardown'>, first: number): Promise<PipelineClient> {
  const uri = new URL(database.adminUri)
  const readyForQuery = Buffer.from('Z\0\0\0\x05I')
  const relay = createServer((near) => {
    const far = connect(Number(uri.port), uri.hostname)
    near.pipe(far)
    let passed = 0
    let rest = Buffer.alloc(0)
    far.on('data', (chunk: Buffer) => {
      const begin = chunk.subarray(0, first - passed)
      near.write(begin)
      passed += begin.length
      rest = Buffer.concat([rest, chunk.subarray(begin.length)])
      if (!chunk.subarray(-readyForQuery.length).equals(readyForQuery)) return
      const last = rest
      passed = 0
      rest = Buffer.alloc(0)
      void until(() => streamOf(receiving).bytesRead === near.bytesWritten).then(() => near.write(last))
    })
    near.on('close', () => far.destroy())
  })
  await new Promise<void>((resolve) => relay.listen(0, '127.0.0.1', resolve))
  const { port } = relay.address() as AddressInfo
  const receiving = new PipelineClient({ connectionString: Object.assign(new URL(uri), { port: String(port) }).href })
  await receiving.connect()
  t.teardown(async () => {
    await receiving.end()
    relay.close()
  })
  return receiving
}

t.test('nor does a large value whose last bytes are too much', async (t) => {
  const length = 8 * 1024 ** 2 + 1
  const receiving = await receivingRestAtOnce(t, length - 500)
  let field: StreamedField | undefined
  await runPipeline(receiving, [[statement(`select repeat('x', ${length})`)]], true, {
    onLargeRow: (_fields, last) => (field = last),
  })
  t.match(field, { length, remaining: 0 })
  t.strictSame(texts(await runPipeline(receiving, [[statement('select 1')]], true)), [[['1']]])
  field?.drop()
})

t.test('connections without TLS share their read buffer', async (t) => {
  const memories = new Set<ArrayBufferLike>()
  for (const mode of ['', '?sslmode=prefer', '?sslmode=allow', '?sslmode=disable']) {
    const one = new LibpqClient(toPoolConfig(database.adminUri + mode, {}))
    await one.connect()
    const { stream } = (one as unknown as { connection: pg.Connection }).connection
    const giveBack = intercept(stream, (chunk) => {
      memories.add(chunk.buffer)
      giveBack(chunk)
    })
    const { rows } = await one.query('select 1 as one')
    t.strictSame(rows, [{ one: 1 }], `the rest is passed to the usual listeners, ${mode}`)
    await one.end()
  }
  t.equal(memories.size, 1)
})
