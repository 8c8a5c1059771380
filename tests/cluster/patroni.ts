// Two servers that Patroni manages, with etcd, behind HAProxy.
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import pg from 'pg'
import { freePort } from '../support/free-port.ts'
import { startProgram, type RunningProgram } from './debian-packages.ts'
import { bin } from './debian-user.ts'
import type { Query } from './pooled-program.ts'

export type Patroni = {
  /** Port of HAProxy, which forwards connections to the leader. */
  readonly port: number
  /** Runs SQL on the leader, as the superuser. */
  readonly query: Query
  /** Makes the other server the leader, and waits until HAProxy forwards to it. */
  readonly switchOver: () => Promise<void>
  /** Kills the leader's Patroni and its server at once. Resolves when the other one accepts writes. */
  readonly killLeader: () => Promise<void>
  readonly stop: () => Promise<void>
}

type Node = {
  readonly name: string
  /** Port of PostgreSQL. */
  readonly port: number
  /** Port of Patroni. */
  readonly rest: number
  readonly place: string
  running?: RunningProgram
}

const retried = async <T>(what: string, seconds: number, ask: () => Promise<T | undefined>): Promise<T> => {
  const deadline = Date.now() + seconds * 1000
  for (;;) {
    const found = await ask().catch(() => undefined)
    if (found !== undefined) return found
    if (Date.now() > deadline) throw new Error(`${what}: not within ${seconds} s`)
    await pause(100)
  }
}

/** Kills a server, if it runs. Its processes end when they notice that. */
async function killServer(place: string): Promise<void> {
  const [pid] = (await readFile(join(place, 'postmaster.pid'), 'utf8').catch(() => '')).split('\n')
  if (pid === undefined || pid === '') return
  try {
    process.kill(Number(pid), 'SIGKILL')
  } catch {
    // It has ended.
  }
}

const settingsOf = (node: Node, etcd: number): string => `
scope: rowhouse
name: ${node.name}
restapi:
  listen: 127.0.0.1:${node.rest}
  connect_address: 127.0.0.1:${node.rest}
etcd3:
  host: 127.0.0.1:${etcd}
bootstrap:
  dcs:
    ttl: 20
    loop_wait: 2
    retry_timeout: 5
    maximum_lag_on_failover: 1048576
    synchronous_mode: true
    postgresql:
      use_pg_rewind: true
      parameters:
        max_connections: 100
        wal_keep_size: 512MB
  initdb:
    - encoding: UTF8
    - locale: C.UTF-8
  pg_hba:
    - host all all 127.0.0.1/32 trust
    - host replication all 127.0.0.1/32 trust
postgresql:
  listen: 127.0.0.1:${node.port}
  connect_address: 127.0.0.1:${node.port}
  data_dir: ${node.place}
  bin_dir: ${bin}
  pgpass: ${node.place}.pgpass
  authentication:
    superuser: { username: postgres, password: postgres }
    replication: { username: replicator, password: replicator }
    rewind: { username: rewinder, password: rewinder }
  parameters:
    unix_socket_directories: ''
`

const proxySettings = (port: number, nodes: readonly Node[]): string => `
global
  maxconn 500
defaults
  mode tcp
  timeout connect 2s
  timeout client 30m
  timeout server 30m
  timeout check 2s
listen primary
  bind 127.0.0.1:${port}
  option httpchk OPTIONS /primary
  http-check expect status 200
  default-server inter 500ms fall 2 rise 1 on-marked-down shutdown-sessions
${nodes.map(({ name, port: to, rest }) => `  server ${name} 127.0.0.1:${to} check port ${rest}`).join('\n')}
`

/** Starts etcd, two servers and HAProxy. Takes about half a minute. */
export async function startPatroni(folder: string): Promise<Patroni> {
  const closings: (() => Promise<void>)[] = []
  const etcd = await freePort()
  const peer = await freePort()
  const here = (port: number): string => `http://127.0.0.1:${port}`
  const store = await startProgram(
    '/usr/bin/etcd',
    [
      ...['--data-dir', join(folder, 'etcd'), '--name', 'one', '--initial-cluster', `one=${here(peer)}`],
      ...['--listen-client-urls', here(etcd), '--advertise-client-urls', here(etcd)],
      ...['--listen-peer-urls', here(peer), '--initial-advertise-peer-urls', here(peer)],
    ],
    etcd,
    folder,
  )
  closings.unshift(() => store.stop())
  const nodes: Node[] = []
  for (const name of ['one', 'two']) {
    nodes.push({ name, port: await freePort(), rest: await freePort(), place: join(folder, name) })
  }
  const configOf = ({ name }: Node): string => join(folder, `patroni-${name}.yml`)
  const start = async (node: Node): Promise<void> => {
    await writeFile(configOf(node), settingsOf(node, etcd))
    node.running = await startProgram('/usr/bin/patroni', [configOf(node)], node.rest, folder)
  }
  const roleOf = async (node: Node): Promise<string> =>
    ((await (await fetch(`${here(node.rest)}/patroni`)).json()) as { role: string }).role
  const leader = (): Promise<Node> =>
    retried('a leader', 60, async () => {
      for (const node of nodes) {
        if ((await fetch(`${here(node.rest)}/primary`).catch(() => undefined))?.status === 200) return node
      }
      return undefined
    })
  await mkdir(join(folder, 'proxy'))
  for (const node of nodes) {
    await start(node)
    closings.unshift(async () => node.running?.stop())
    await leader()
  }
  const standby = (): Promise<Node> =>
    retried('a synchronous standby', 60, async () => {
      for (const node of nodes) {
        if ((await fetch(`${here(node.rest)}/synchronous`).catch(() => undefined))?.status === 200) return node
      }
      return undefined
    })
  await standby()
  const port = await freePort()
  const file = join(folder, 'proxy', 'haproxy.cfg')
  await writeFile(file, proxySettings(port, nodes))
  const proxy = await startProgram('/usr/sbin/haproxy', ['-f', file], port, folder)
  closings.unshift(() => proxy.stop('SIGTERM'))
  const run = async (to: number, database: string, text: string): Promise<Record<string, unknown>[]> => {
    const client = new pg.Client({ connectionString: `postgresql://postgres@127.0.0.1:${to}/${database}` })
    client.on('error', () => undefined)
    await client.connect()
    try {
      return (await client.query<Record<string, unknown>>(text)).rows
    } finally {
      await client.end().catch(() => undefined)
    }
  }
  const query: Query = async (text) => run((await leader()).port, 'postgres', text)
  /**
   * Waits until HAProxy forwards to the leader alone. It forwards each connection to the next server, and to the standby, too,
   * until the checks of that have failed.
   */
  const isWritable = (node: Node): Promise<true> =>
    retried(`writes on ${node.name}`, 60, async () => {
      const text = 'select inet_server_port() as port, pg_is_in_recovery() as standby'
      const reached = await Promise.all(nodes.map(() => run(port, 'postgres', text)))
      return reached.every(([row]) => row?.port === node.port && row.standby === false) ? true : undefined
    })
  await isWritable(await leader())
  return {
    port,
    query,
    switchOver: async () => {
      const from = await leader()
      const to = await standby()
      const response = await fetch(`${here(from.rest)}/switchover`, {
        method: 'POST',
        body: JSON.stringify({ leader: from.name, candidate: to.name }),
      })
      // 503: Patroni has not waited long enough.
      if (response.status !== 200 && response.status !== 503)
        throw new Error(`switchover: ${response.status} ${await response.text()}`)
      await isWritable(to)
      await retried('a synchronous standby', 60, async () => ((await roleOf(from)) === 'replica' ? true : undefined))
      await standby()
    },
    killLeader: async () => {
      const from = await leader()
      const to = await standby()
      await from.running?.stop('SIGKILL')
      await killServer(from.place)
      await isWritable(to)
    },
    stop: async () => {
      for (const close of closings) await close()
      for (const { place } of nodes) await killServer(place)
    },
  }
}
