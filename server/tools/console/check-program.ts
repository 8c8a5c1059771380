// The program of a process that checks the database: the lints of thousands of tables take seconds of a processor, in which a
// server would answer no request.
import { withClient } from '../../postgres/connection/client.ts'
import { requireSupportedVersion } from '../../postgres/connection/server-version.ts'
import { toPoolConfig } from '../../running/connection-setting.ts'
import { RefusedTask, endWithServer, serveTasks } from '../../services/background/program.ts'
import type { RunClientQuery } from '../../catalogue/introspection.ts'
import { sqlState } from '../../postgres/database-error.ts'
import { policyFindings } from '../doctor/policies.ts'
import { checkDatabase } from './check-database.ts'
import type { CheckFault, CheckTask } from './check-process.ts'
import { isForPeople } from './tool-failure.ts'

async function found({ wanted, settings }: CheckTask, query: RunClientQuery): Promise<unknown> {
  switch (wanted) {
    case 'report':
      return checkDatabase(query, settings)
    case 'findings': {
      const { findings, ignored, unseen } = await checkDatabase(query, settings)
      return { findings, ignored, unseen }
    }
    case 'doctor':
      return policyFindings(query, settings)
    default:
      return wanted satisfies never
  }
}

/** The result as JSON, which the server need not read to send it. */
async function perform(task: CheckTask): Promise<string> {
  try {
    return await withClient(toPoolConfig(task.uri, task.env, 'read-write'), async (client) => {
      await requireSupportedVersion(async (text) => (await client.query<Record<string, unknown>>(text)).rows)
      const query: RunClientQuery = (text, values) => client.query<Record<string, unknown>>(text, values)
      return JSON.stringify(await found(task, query))
    })
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
