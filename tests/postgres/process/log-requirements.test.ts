// What reading the log of a database requires: each of it missing, on servers of the oldest and the newest version.
import { existsSync } from 'node:fs'
import { appendFile, chmod, mkdtemp, rm } from 'node:fs/promises'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import t, { type Test } from 'tap'
import { connectionConfig } from '../../../server/postgres/connection/pool-config.ts'
import { binariesIn, findBinaries, type Binaries } from '../../../server/postgres/embedded/binaries.ts'
import { startPostmaster, type Postmaster } from '../../../server/postgres/embedded/postmaster.ts'
import { databaseUser } from '../../../server/postgres/embedded/system-user.ts'
import { LogReader, type LogState } from '../../../server/postgres/replication/log-reader.ts'
import type { LogTransaction } from '../../../server/postgres/replication/log-transaction.ts'
import { ReplicationStream } from '../../../server/postgres/replication/replication-stream.ts'
import { uriOf } from '../../support/cluster.ts'
import { withClient } from '../../support/database.ts'
import { freePort } from '../../support/free-port.ts'
import { createCluster } from '../../support/postgres-versions.ts'
import { until } from '../../support/until.ts'

const user = await databaseUser(null)
const debian = '/usr/lib/postgresql/15'
const versions: readonly Binaries[] = [
  ...(existsSync(debian) ? [await binariesIn(debian, user)] : []),
  await findBinaries(user),
]

function read(t: Pick<Test, 'teardown'>, uri: string): { states: LogState[]; transactions: LogTransaction[] } {
  const states: LogState[] = []
  const transactions: LogTransaction[] = []
  const reader = new LogReader({
    connection: connectionConfig(uri, {}),
    publications: ['supabase_realtime'],
    mostBytes: () => 1_000_000,
    onTransaction: (transaction) => void transactions.push(transaction),
    onState: (state) => states.push(state),
  })
  reader.start()
  t.teardown(() => reader.stop())
  return { states, transactions }
}

const messageOf = async (states: readonly LogState[], kind: LogState['kind']): Promise<string> => {
  await until(() => states.at(-1)?.kind === kind)
  const state = states.at(-1)
  return state?.kind === 'lost' || state?.kind === 'unavailable' ? state.message : ''
}

for (const binaries of versions) {
  t.test(`PostgreSQL ${binaries.majorVersion}`, { timeout: 300_000 }, async (t) => {
    const folder = await mkdtemp(join(tmpdir(), 'rowhouse-log-'))
    await chmod(folder, 0o711)
    const cluster = await createCluster(folder, binaries, user)
    await appendFile(join(cluster, 'postgresql.conf'), '\nfsync = off\nshared_buffers = 16MB\n')
    const port = await freePort()
    const uri = uriOf(port, 'postgres')
    let server: Postmaster | undefined
    t.teardown(async () => {
      await server?.stop()
      for (const place of new Set([folder, dirname(cluster)])) await rm(place, { recursive: true, force: true })
    })
    const start = async (settings: Readonly<Record<string, string>>): Promise<void> => {
      await server?.stop()
      server = await startPostmaster({ binaries, cluster, user, port, logFile: join(folder, 'log'), settings })
    }
    const query = (text: string): Promise<unknown> => withClient(uri, (client) => client.query(text))

    await start({ wal_level: 'replica', max_replication_slots: '1', max_wal_senders: '2' })
    await query(`create publication supabase_realtime for all tables; create table a (id int primary key);
      create role plain login password 'plain'`)

    await t.test('wal_level, and the attribute REPLICATION', async (t) => {
      const level =
        'wal_level is replica: the log does not say which rows were changed. Set it to logical, and restart PostgreSQL: alter system set wal_level = logical;'
      t.equal(await messageOf(read(t, uri).states, 'unavailable'), level)
      const role =
        'The role plain may not read the log: it lacks the attribute REPLICATION. Let a superuser give it, or set REALTIME_DATABASE_URL to the connection string of a role that has it: alter role "plain" replication;'
      const plain = read(t, uriOf(port, 'postgres', 'plain:plain'))
      t.equal(await messageOf(plain.states, 'unavailable'), `${level} ${role}`, 'all that is missing')
    })

    await start({ max_replication_slots: '1', max_wal_senders: '2' })

    await t.test('a free slot', async (t) => {
      await query("select pg_create_physical_replication_slot('other', true)")
      const { states } = read(t, uri)
      t.equal(
        await messageOf(states, 'unavailable'),
        'All 1 replication slots are in use. Drop those of pg_replication_slots that are not needed any more, or raise max_replication_slots and restart PostgreSQL: alter system set max_replication_slots = 11;',
      )
      await query("select pg_drop_replication_slot('other')")
      t.ok(await until(() => states.at(-1)?.kind === 'reading'))
    })

    await t.test('a free connection for replication', async (t) => {
      const others = [1, 2].map(() => new ReplicationStream(connectionConfig(uri, {}), 'true'))
      // The reader of the test before may not be gone.
      for (const other of others) await other.connect()
      const { states } = read(t, uri)
      const message = await messageOf(states, 'unavailable')
      t.equal(
        message,
        'All 2 connections for replication are in use. Raise max_wal_senders, and restart PostgreSQL: alter system set max_wal_senders = 12;',
      )
      for (const other of others) other.destroy()
      t.ok(await until(() => states.at(-1)?.kind === 'reading'))
    })

    await t.test('a server that restarts', async (t) => {
      const { states, transactions } = read(t, uri)
      await until(() => states.at(-1)?.kind === 'reading')
      await query('insert into a values (1)')
      await until(() => transactions.length === 1)
      await start({})
      await until(() => states.filter(({ kind }) => kind === 'reading').length === 2)
      t.ok(states.some(({ kind }) => kind === 'lost'))
      t.notOk(states.some(({ kind }) => kind === 'unavailable'))
      await query('insert into a values (2)')
      await until(() => transactions.length === 2)
      t.match(transactions, [{ changes: [{ kind: 'insert' }] }, { changes: [{ kind: 'insert' }] }])
      const slots = await withClient(uri, (client) => client.query('select temporary from pg_replication_slots'))
      t.strictSame(slots.rows, [{ temporary: true }])
    })
  })
}

t.test('a pooler that refuses replication', async (t) => {
  const text = Buffer.from('SFATAL\0VFATAL\0C08P01\0Munsupported startup parameter: replication\0\0')
  const head = Buffer.from('E\0\0\0\0')
  head.writeInt32BE(text.length + 4, 1)
  const server = createServer((socket) => {
    socket.on('error', () => undefined)
    socket.once('data', (data) => {
      if (data.length !== 8) return socket.end(Buffer.concat([head, text]))
      socket.write('N')
      return socket.once('data', () => socket.end(Buffer.concat([head, text])))
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => server.close())
  const address = server.address()
  const port = typeof address === 'object' && address ? address.port : 0
  const { states } = read(t, `postgresql://x:x@127.0.0.1:${port}/x`)
  t.equal(
    await messageOf(states, 'unavailable'),
    'The connection goes through a pooler, which does not pass replication on. Set REALTIME_DATABASE_URL to a connection string of the database itself.',
  )
})
