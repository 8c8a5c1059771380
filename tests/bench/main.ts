// `npm run bench`: see options.ts for its options.
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { cpus, tmpdir } from 'node:os'
import { join } from 'node:path'
import { compareBuilds } from './against.ts'
import { compare, type Contestants } from './comparison.ts'
import { enterControlGroup } from './control-group.ts'
import { databaseName, prepareDataset, userCount } from './dataset.ts'
import { measureImages } from './images.ts'
import { measureExtensions } from './extensions/measure.ts'
import { loadGenerator } from './load.ts'
import { measureOverload } from './overload/measure.ts'
import { parseOptions, usage, type Options } from './options.ts'
import { findPgbench } from './pgbench.ts'
import { foreignPostgres, runSql, startPostgres, type Postgres } from './postgres.ts'
import { overallVerdicts, verdictsOf } from './results.ts'
import { resultsTable, verdictsTable } from './results-table.ts'
import { findPostgrest, postgrest, rowhouse, type Server, type StartServer } from './servers.ts'
import { readSlowly } from './slow-client.ts'
import { measureRealtime, unlimitedRealtime } from './realtime.ts'
import { measureSignIn, unlimited } from './sign-in.ts'
import { soak } from './soak.ts'
import { startSeconds } from './startup.ts'
import { measureStorage } from './storage.ts'
import { chosenWorkloads } from './workloads.ts'

const print = (line: string): void => console.log(line)

async function openPostgres(options: Options): Promise<{ postgres: Postgres; own: boolean }> {
  const { BENCH_DATABASE_URL: admin, BENCH_AUTHENTICATOR_URL: authenticator } = process.env
  const { data: folder, fsync, commitDelay } = options
  if (!admin) return { postgres: await startPostgres({ folder, fsync, commitDelay }), own: true }
  if (!authenticator) throw new Error('BENCH_DATABASE_URL is set, BENCH_AUTHENTICATOR_URL is not')
  return { postgres: foreignPostgres(admin, authenticator), own: false }
}

async function run(options: Options): Promise<unknown> {
  const workloads = options.mode === 'extensions' || options.mode === 'overload' ? [] : chosenWorkloads(options.only)
  const generator = await loadGenerator(options.generator)
  const leaveControlGroup = options.controlGroup ? enterControlGroup() : undefined
  const directory = await mkdtemp(join(tmpdir(), 'rowhouse-bench-programs-'))
  const { postgres, own } = await openPostgres(options)
  const servers: Server[] = []
  try {
    const dataset = { rows: options.rows, users: userCount }
    const binary = options.alone || options.against !== undefined ? undefined : await findPostgrest(directory)
    const startRowhouse = rowhouse(options.env)
    const startRival = binary === undefined ? undefined : postgrest(binary)
    const measureStart = () =>
      startSeconds(startRival ? [startRowhouse, startRival] : [startRowhouse], postgres, own, options.rounds)
    if (options.mode === 'startup') {
      const [own, rival] = await measureStart()
      print(`start to ready at 100 tables: ${own?.toFixed(2)} s, PostgREST ${rival?.toFixed(2) ?? '–'} s`)
      return { startSeconds: { rowhouse: own, postgrest: rival } }
    }
    print(`preparing ${dataset.rows} rows`)
    await prepareDataset(postgres, dataset, own)
    const [version] = await runSql<{ server_version: string }>(postgres.adminUri(databaseName), 'show server_version')
    const machine = {
      postgres: `${version?.server_version}, ${postgres.description}`,
      node: process.version,
      cores: cpus().length,
      processor: cpus()[0]?.model,
      generator: `${generator.name}, ${options.connections} connections`,
      processes: leaveControlGroup ? 'in one control group' : 'in no control group',
    }
    print(
      Object.entries(machine)
        .map(([name, value]) => `${name}: ${value}`)
        .join('; '),
    )
    const started = async (start: StartServer): Promise<Server> => {
      const server = await start(postgres.authenticatorUri(databaseName))
      servers.push(server)
      return server
    }
    switch (options.mode) {
      case 'soak': {
        const server = await started(rowhouse(options.env, true))
        return { machine, soak: await soak(server, postgres, dataset, generator, options, print) }
      }
      case 'slow-client':
        return { machine, slowClient: await readSlowly(await started(startRowhouse), options.megabytes, print) }
      case 'images': {
        const startWith = (env: Readonly<Record<string, string>>) => started(rowhouse({ ...options.env, ...env }))
        return { machine, images: await measureImages({ startWith, dataset, generator, options, print }) }
      }
      case 'sign-in': {
        const server = await started(rowhouse({ ...options.env, ...unlimited }))
        return { machine, signIn: await measureSignIn({ server, postgres, dataset, generator, options, print }) }
      }
      case 'storage': {
        const startWith = (env: Readonly<Record<string, string>>) => started(rowhouse({ ...options.env, ...env }))
        return { machine, storage: await measureStorage({ startWith, dataset, generator, options, print }) }
      }
      case 'realtime': {
        const server = await started(
          rowhouse({ ...unlimitedRealtime, REALTIME_DATABASE_URL: postgres.adminUri(databaseName), ...options.env }),
        )
        return { machine, realtime: await measureRealtime({ server, postgres, dataset, generator, options, print }) }
      }
      case 'extensions': {
        const startWith = (env: Readonly<Record<string, string>>) => started(rowhouse({ ...options.env, ...env }))
        return { machine, extensions: await measureExtensions({ startWith, postgres, dataset, options, print }) }
      }
      case 'overload': {
        const startWith = (env: Readonly<Record<string, string>>) => started(rowhouse({ ...options.env, ...env }))
        const overload = await measureOverload({ startWith, postgres, dataset, generator, options, print })
        return { machine, overload }
      }
      case 'compare': {
        if (options.against !== undefined) {
          const own = await started(startRowhouse)
          const other = await started(rowhouse(options.env, false, options.against))
          const builds = { own, other }
          const results = await compareBuilds(workloads, { builds, postgres, dataset, generator, options, print })
          return { machine, options, results }
        }
        if (options.profile !== undefined) await mkdir(options.profile, { recursive: true })
        const contestants: Contestants = {
          rowhouse: await started(rowhouse(options.env, options.profile !== undefined)),
          postgrest: startRival && (await started(startRival)),
          pgbench: options.alone ? undefined : await findPgbench(),
        }
        print('requests/s of rowhouse / PostgREST / pgbench')
        const results = await compare(workloads, { contestants, postgres, dataset, generator, options, print })
        const [ownStart, rivalStart] = options.only.length === 0 ? await measureStart() : []
        const verdicts = [...results.flatMap(verdictsOf), ...overallVerdicts(results, ownStart)]
        print(`\n${resultsTable(results)}\n\n${verdictsTable(verdicts)}`)
        return { machine, options, results, startSeconds: { rowhouse: ownStart, postgrest: rivalStart }, verdicts }
      }
      default:
        return options.mode satisfies never
    }
  } finally {
    for (const server of servers) await server.stop()
    await postgres.stop()
    await rm(directory, { recursive: true, force: true })
    leaveControlGroup?.()
  }
}

// Also ends the servers: each has an exit handler for this process.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1))

try {
  const parsed = parseOptions(process.argv.slice(2))
  if (parsed === undefined) {
    print(usage)
  } else {
    const began = performance.now()
    const results = await run(parsed)
    print(`\nafter ${((performance.now() - began) / 1000).toFixed(0)} s`)
    if (parsed.json !== undefined) await writeFile(parsed.json, `${JSON.stringify(results, null, 2)}\n`)
  }
} catch (error) {
  console.error(error instanceof Error ? error.message : error)
  process.exitCode = 1
}
