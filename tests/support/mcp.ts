// Clients of `/mcp` of a running service: the SDK's own, unmodified.
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import type { Test } from 'tap'
import type { Environment } from '../../server/config/config-sources.ts'
import { startApplication, type Application } from './application.ts'
import { createMigratedDatabase, type MigratedDatabase } from './database.ts'

type Ended = Pick<Test, 'teardown'>

export type McpApplication = Application & { readonly database: MigratedDatabase }

/** The result of a tool. */
export type Result = {
  readonly isError: boolean
  readonly text: string
  readonly data: unknown
  readonly own: Readonly<Record<string, unknown>>
}

export type Agent = {
  readonly client: Client
  /** Names of the tools that are offered. */
  readonly tools: () => Promise<readonly string[]>
  readonly call: (name: string, given?: Record<string, unknown>) => Promise<Result>
}

/** Starts the service on a database of its own. @param sql runs before, as the superuser */
export async function startMcpServer(t: Ended, sql: string, env: Environment = {}): Promise<McpApplication> {
  const database = await createMigratedDatabase()
  t.teardown(() => database.drop())
  await database.query(sql)
  const application = await startApplication(t, database.authenticatorUri, {
    SERVICES: 'rest,auth,mcp',
    FUNCTIONS_DIR: 'none',
    ...env,
  })
  return { ...application, database }
}

/** Connects a client. @param headers its credentials */
export async function connect(t: Ended, url: string, headers: Readonly<Record<string, string>>): Promise<Agent> {
  const client = new Client({ name: 'test', version: '1.0.0' })
  const transport = new StreamableHTTPClientTransport(new URL(`${url}/mcp`), { requestInit: { headers } })
  await client.connect(transport)
  t.teardown(() => client.close())
  return {
    client,
    tools: async () => (await client.listTools()).tools.map(({ name }) => name),
    call: async (name, given = {}) => resultOf(await client.callTool({ name, arguments: given })),
  }
}

function resultOf(result: Awaited<ReturnType<Client['callTool']>>): Result {
  const content = result.content as readonly { readonly text: string }[]
  const own = (result.structuredContent ?? {}) as Record<string, unknown>
  return { isError: result.isError === true, text: content[0]?.text ?? '', data: own.untrusted_data, own }
}
