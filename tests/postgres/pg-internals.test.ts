// `pg` is pinned to one version, because this program uses parts of it that its documentation does not promise. Each is
// listed here with its reason: a new version has to pass this test before package.json may name it.
import { readFile } from 'node:fs/promises'
import pg from 'pg'
import t from 'tap'
import { LibpqClient, connectionConfig } from '../../server/postgres/connection/pool-config.ts'
import { createPool } from '../../server/postgres/pool.ts'
import { createDatabase } from '../support/database.ts'

const database = await createDatabase()
t.teardown(() => database.drop())
const config = connectionConfig(database.adminUri, {})

/** A connected client with all its members, also those that the types leave out. */
async function connected(): Promise<{ client: LibpqClient; members: Record<string, unknown> }> {
  const client = new LibpqClient(config)
  await client.connect()
  t.teardown(() => client.end())
  return { client, members: client as unknown as Record<string, unknown> }
}

t.test('one version is named, and installed', async (t) => {
  const read = async (path: string): Promise<{ dependencies?: Record<string, string>; version?: string }> =>
    JSON.parse(await readFile(new URL(path, import.meta.url), 'utf8')) as { version?: string }
  const named = (await read('../../package.json')).dependencies?.pg
  t.match(named, /^\d+\.\d+\.\d+$/)
  t.equal((await read('../../node_modules/pg/package.json')).version, named)
})

t.test('a connection is ours: it fills what pg.Connection keeps, and is given to the client', async (t) => {
  // `LibpqConnection` sets them while it tries hosts one after the other. `Client` and `Connection` read them.
  const plain = new pg.Connection() as unknown as Record<string, unknown>
  t.equal(plain._ending, false, 'whether the connection is being closed')
  const other = new pg.Client(database.adminUri)
  await other.connect()
  const { _connecting: hasBegun } = (other as unknown as { readonly connection: Record<string, unknown> }).connection
  t.equal(hasBegun, true, 'whether `connect` was called: without it `end` says no farewell to the server')
  await other.end()
  t.type(plain.attachListeners, 'function', 'parses what comes, once a stream is decided on')
  t.ok('stream' in plain, 'is replaced by the stream of the attempt')
  const connection = new pg.Connection()
  const settings: pg.ClientConfig & { readonly connection: pg.Connection } = { connection }
  const client = new pg.Client(settings) as unknown as Record<string, unknown>
  t.equal(client.connection, connection, 'the option `connection` replaces the one that a client makes')
})

t.test('the session that the server announced can be cancelled', async (t) => {
  const { client, members } = await connected()
  const { rows } = await client.query<{ pid: number }>('select pg_backend_pid() as pid')
  t.equal(members.processID, rows[0]?.pid, '`processID` tells a server from a pooler')
  t.type(members.secretKey, 'number', '`secretKey` is part of a request to cancel')
})

t.test('a query object may read the socket itself', async (t) => {
  const { client } = await connected()
  const heard: string[] = []
  const done = new Promise<void>((resolve) => {
    // `PipelineQuery` is such an object.
    const query = {
      submit: (connection: pg.Connection) => {
        heard.push('submit')
        t.ok(connection.stream.listenerCount('data') > 0 || 'readable' in connection.stream, 'with its stream')
        connection.query('select 1')
      },
      handleRowDescription: () => heard.push('rows'),
      handleDataRow: () => heard.push('row'),
      handleCommandComplete: () => heard.push('complete'),
      handleError: () => heard.push('error'),
      handleReadyForQuery: () => {
        heard.push('ready')
        resolve()
      },
    }
    client.query(query)
  })
  await done
  t.strictSame(heard, ['submit', 'rows', 'row', 'complete', 'ready'])
  t.equal(client.getTransactionStatus(), 'I', 'known from the last ReadyForQuery: idle connections alone go back')
  await client.query('begin')
  t.equal(client.getTransactionStatus(), 'T')
  await client.query('rollback')
})

t.test('the pool', async (t) => {
  const settings = { dbPoolMaxIdletime: 30, dbPoolMaxLifetime: 1800, dbPoolAcquisitionTimeout: 10 }
  const pool = createPool(config, { ...settings, dbPool: 1 })
  t.teardown(() => pool.end())
  const client = await pool.connect()
  t.ok(client instanceof LibpqClient, 'makes clients of the class in its options')
  t.ok(client instanceof LibpqClient && client.isDirect, 'calls the option `verify` before it lends a new connection')
  const descriptors = Object.getOwnPropertyDescriptors(Object.getPrototypeOf(pg.Pool.prototype) as object)
  const isGetter = 'waitingCount' in descriptors && 'get' in (descriptors.waitingCount as object)
  t.ok(isGetter, '`waitingCount` is a getter, which ours replaces')
  client.release()
  // The only connection is taken, so that the next request waits in vain.
  const full = new pg.Pool({ ...config, max: 1 })
  t.teardown(() => full.end())
  const taken = await full.connect()
  full.options.connectionTimeoutMillis = 1
  await t.rejects(
    full.connect(),
    { message: 'timeout exceeded when trying to connect' },
    'this message tells a timeout',
  )
  taken.release()
})
