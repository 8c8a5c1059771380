// The statements that this server runs for a request, made by its own stages.
import { loadConfig } from '../../server/config/load.ts'
import { readRoleSettings } from '../../server/rest/role-settings.ts'
import type { Claims } from '../../server/identity/identity.ts'
import { loadSchemaCache } from '../../server/schema-cache/load.ts'
import { planRequest } from '../../server/rest/plan/planner.ts'
import { parseApiRequest } from '../../server/rest/request/parse-api-request.ts'
import { render, type Statement } from '../../server/rest/sql/fragment.ts'
import { SettingsStatements } from '../../server/rest/sql/settings.ts'
import { mainStatement } from '../../server/rest/sql/statement.ts'
import { jwtSecret } from './dataset.ts'
import { withClient } from './postgres.ts'
import type { BenchRequest } from './request.ts'

/** Gives the statements of a request with a token: settings, and the main one. */
export type StatementsOf = (request: BenchRequest) => readonly Statement[]

/** Reads the schema as the server does. */
export async function statementsOn(authenticatorUri: string): Promise<StatementsOf> {
  const { config } = loadConfig({ env: { DATABASE_URL: authenticatorUri, PGRST_JWT_SECRET: jwtSecret } })
  const [cache, roleSettings] = await withClient(authenticatorUri, async (client) => {
    const query = async (text: string, values: unknown[]) =>
      (await client.query<Record<string, unknown>>(text, values)).rows
    await client.query("begin isolation level repeatable read read only; set local search_path to ''")
    const loaded = await loadSchemaCache(query, {
      schemas: config.dbSchemas,
      extraSearchPath: config.dbExtraSearchPath,
      hoistedSettings: config.dbHoistedTxSettings,
    })
    return [loaded, await readRoleSettings(query)] as const
  })
  const settings = new SettingsStatements(config, roleSettings)
  return ({ method, path, headers, body }) => {
    const question = path.indexOf('?')
    const { request } = parseApiRequest(
      {
        method,
        path: question < 0 ? path : path.slice(0, question),
        query: question < 0 ? '' : path.slice(question + 1),
        headers: Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]),
        body: Buffer.from(body ?? ''),
      },
      config,
    )
    const plan = planRequest(request, cache, config)
    if (plan.kind !== 'read' && plan.kind !== 'mutate' && plan.kind !== 'call') {
      throw new Error(`${method} ${path} has no statement`)
    }
    const identity = { role: 'authenticated', claims: claimsOf(headers.Authorization ?? '') }
    return [settings.statement(identity, request, plan), render(mainStatement(plan, request.shape, config))]
  }
}

const claimsOf = (authorization: string): Claims =>
  JSON.parse(Buffer.from(authorization.split('.')[1] ?? '', 'base64url').toString()) as Claims
