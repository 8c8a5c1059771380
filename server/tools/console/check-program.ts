// The program of a process that checks the database: the lints of thousands of tables take seconds of a processor, in which a
// server would answer no request.
import type { Environment } from '../../config/config-sources.ts'
import { withClient } from '../../postgres/connection/client.ts'
import { requireSupportedVersion } from '../../postgres/connection/server-version.ts'
import { toPoolConfig } from '../../running/connection-setting.ts'
import { RefusedTask, endWithServer, serveTasks } from '../../services/background/program.ts'
import type { RunClientQuery } from '../../catalogue/introspection.ts'
import { sqlState } from '../../postgres/database-error.ts'
import { policyFindings } from '../doctor/policies.ts'
import { checkDatabase, tryFixesOf } from './check-database.ts'
import type { CheckFault, CheckTask } from './check-process.ts'
import { isForPeople } from './tool-failure.ts'

async function found({ wanted, settings, env }: CheckTask, query: RunClientQuery): Promise<unknown> {
  switch (wanted.kind) {
    case 'report':
      return checkDatabase(query, settings)
    case 'findings': {
      const { findings, ignored, unseen } = await checkDatabase(query, settings)
      return { findings, ignored, unseen }
    }
    case 'doctor':
      return policyFindings(query, settings)
    case 'fixes':
      return tryFixesOf(query, settings, wanted.request, (use) => withQuery(wanted.owner, env, use))
    default:
      return wanted satisfies never
  }
}

const withQuery = <T>(uri: string, env: Environment, use: (query: RunClientQuery) => Promise<T>): Promise<T> =>
  withClient(toPoolConfig(uri, env, 'read-write'), async (client) => {
    await requireSupportedVersion(async (text) => (await client.query<Record<string, unknown>>(text)).rows)
    return use((text, values) => client.query<Record<string, unknown>>(text, values))
  })

/** The result as JSON, which the server need not read to send it. */
async function perform(task: CheckTask): Promise<string> {
  try {
    return await withQuery(task.uri, task.env, async (query) => JSON.stringify(await found(task, query)))
  } catch (error) {
    const fault: CheckFault = {
      isForPeople: isForPeople(error),
      code: sqlState(error) ?? (error as { readonly code?: string }).code,
    }
    throw new RefusedTask(fault, error instanceof Error ? error.message : String(error))
  }
}

endWithServer()
serveTasks(() => Promise.resolve({ state: null, work: perform }))
