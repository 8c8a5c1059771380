// What the pages of SQL and policies call: the functions of the commands, on the database and in the project that are served.
import type { Config } from '../../config/config.ts'
import { folderForNew } from '../../config/project.ts'
import type { PoolConfig } from '../../postgres/connection/pool-config.ts'
import { toPoolConfig } from '../../running/connection-setting.ts'
import type { ConsoleToolsOptions } from '../../running/serve-tools.ts'
import type { DatabaseTools } from '../../services/console/database-tools.ts'
import type { PolicyTests } from '../../services/console/policy-protocol.ts'
import { explainFully } from '../explain/offline.ts'
import { parseRequest } from '../explain/request-line.ts'
import { Turns } from '../explain/turns.ts'
import { createMigration } from '../migrations/new-migration.ts'
import { acceptMutant, addTest } from '../policy-tests/add-test.ts'
import { withEmbeddedLaboratory } from '../policy-tests/embedded-laboratory.ts'
import { readProjectTests } from '../policy-tests/whole-run.ts'
import type { CheckProcess } from './check-process.ts'
import { runSql, type SqlPlace } from './run-sql.ts'
import { sqlLogin } from './sql-login.ts'
import { TestRuns } from './test-runs.ts'
import { forPeople, isForPeople } from './tool-failure.ts'
import { writeFixes } from './write-fixes.ts'

/** Runs of SQL and explanations that each use a connection at the same time. */
const maxAtOnce = 3

export function createDatabaseTools(options: ConsoleToolsOptions, checks: CheckProcess): DatabaseTools {
  const { env, uri, ownerUri, config, database, snapshot, validator } = options
  const turns = new Turns(maxAtOnce)
  const runs = new TestRuns()
  return {
    runSql: (request, identity, signal, beforeCommit) =>
      turns.take(() => runSql(placeOf(options), request, identity, signal, beforeCommit)),
    explain: ({ request: line, headers = [], body, trusted = [] }, identity, signal) =>
      forPeople(() => {
        const { restBasePath } = config()
        const data = body === undefined ? undefined : Buffer.from(body)
        const asked = parseRequest({ line, data, headers }, restBasePath)
        const reader = readerOf(signal)
        return turns.take(() =>
          explainFully({ database, snapshot, validator }, asked, identity, { trusted, restBasePath, reader }),
        )
      }),
    check: () => checks.report(),
    findings: () => checks.findings(),
    writeFixes: (request) =>
      forPeople(async () => {
        const settings = config()
        await folderForNew(settings)
        return writeFixes(await checks.tryFixes(request, ownerUri ?? uri), settings, request, {
          withLaboratory: (given, wish, use) => withEmbeddedLaboratory(given, env, wish, () => undefined, use),
        })
      }),
    writeMigration: ({ name, sql }) =>
      forPeople(async () => createMigration(await folderForNew(config()), name, `${sql.trim()}\n`)),
    policyTests: () => policyTests(config(), runs),
    addPolicyTest: (test) => forPeople(async () => addTest((await readProjectTests(config())).tests, { ...test })),
    acceptMutant: (accepted) => forPeople(async () => acceptMutant((await readProjectTests(config())).tests, accepted)),
    startRun: (request) => forPeople(() => runs.start(request, config(), env)),
    currentRun: () => runs.current,
    cancelRun: () => runs.cancel(),
  }
}

/** Where SQL runs: during development, the owner can be chosen, and creates the login role of all others. */
function placeOf({ isDevelopment, uri, ownerUri, env, config }: ConsoleToolsOptions): SqlPlace {
  const { consoleDatabaseUrl, dbChannel } = config()
  const connection = (address: string): PoolConfig => toPoolConfig(address, env, 'read-write')
  const owner = ownerUri === null ? undefined : connection(ownerUri)
  return {
    login: async () =>
      consoleDatabaseUrl === null && isDevelopment && owner
        ? sqlLogin(owner, connection(uri).plan.user)
        : connection(consoleDatabaseUrl ?? uri),
    owner,
    channel: dbChannel,
  }
}

const readerOf = (
  signal: AbortSignal,
): { readonly isGone: boolean; readonly onGone: (listener: () => void) => () => void } => ({
  get isGone() {
    return signal.aborted
  },
  onGone: (listener) => {
    signal.addEventListener('abort', listener)
    return () => signal.removeEventListener('abort', listener)
  },
})

async function policyTests(config: Config, runs: TestRuns): Promise<PolicyTests> {
  const run = runs.current
  try {
    const { tests: folder, files } = await readProjectTests(config)
    return {
      folder,
      files: files.map(({ path, tests, matrix, accepted }) => ({
        path,
        tests: tests.map(({ name, line, method, target }) => ({ name, line, request: `${method} ${target}` })),
        cells: matrix.length,
        accepted: accepted.map(({ mutant, reason }) => ({ mutant, reason })),
      })),
      error: null,
      run,
    }
  } catch (error) {
    if (!isForPeople(error)) throw error
    return { folder: '', files: [], error: error.message, run }
  }
}
