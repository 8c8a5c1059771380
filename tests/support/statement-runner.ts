// Runs the statements of a plan like a request, in a transaction that is rolled back.
import { isUtf8 } from 'node:buffer'
import { PipelineClient } from '../../server/postgres/protocol/pipeline-client.ts'
import type { Test } from 'tap'
import { runPipeline } from '../../server/postgres/protocol/pipeline.ts'
import type { PipelineStatement } from '../../server/rest/database.ts'
import type { RawRow } from '../../server/rest/row-transfer.ts'
import type { Identity } from '../../server/identity/identity.ts'
import type { CrudPlan } from '../../server/rest/plan/plan.ts'
import type { PlannedRequest } from '../../server/rest/request/api-request.ts'
import { explainBody, readResult, resultFormats } from '../../server/rest/response/result-row.ts'
import type { Body, ResultRow } from '../../server/rest/response/result.ts'
import { render } from '../../server/rest/sql/fragment.ts'
import type { Fragment } from '../../server/rest/sql/fragment.ts'
import { SettingsStatements } from '../../server/rest/sql/settings.ts'
import { mainStatement } from '../../server/rest/sql/statement.ts'
import type { TestDatabase } from './database.ts'
import { plannedRequest, type FlatRequest } from './plans.ts'
import { noRoleSettings } from '../../server/rest/settings.ts'

export type StatementRunner = {
  /** Returns the row of a plan's main statement. */
  readonly run: (plan: CrudPlan, request?: Partial<FlatRequest>, dbMaxRows?: number | null) => Promise<ResultRow>
  /** Returns the body of a plan's main statement, parsed as JSON. */
  readonly json: (plan: CrudPlan, request?: Partial<FlatRequest>) => Promise<unknown>
  /** Runs statements after the settings of a plan, the main statement first. Returns the rows of each. */
  readonly statements: (
    plan: CrudPlan,
    request: PlannedRequest,
    ...fragments: readonly Fragment[]
  ) => Promise<readonly (readonly RawRow[])[]>
  readonly end: () => Promise<void>
}

export async function statementRunner(database: TestDatabase, identity: Identity): Promise<StatementRunner> {
  const client = new PipelineClient({ connectionString: database.adminUri })
  await client.connect()
  const settings = new SettingsStatements({ dbExtraSearchPath: ['public'], appSettings: [] }, noRoleSettings)
  const execute = async (plan: CrudPlan, request: PlannedRequest, statements: readonly PipelineStatement[]) => {
    const command = (text: string) => ({ text, values: [] })
    const before = [command('begin'), settings.statement(identity, request, plan)]
    const results = await runPipeline(client, [[...before, ...statements], [command('rollback')]], false)
    return results.slice(before.length, -1)
  }
  const statements: StatementRunner['statements'] = (plan, request, ...fragments) =>
    execute(
      plan,
      request,
      fragments.map((fragment) => render(fragment)),
    )
  const run: StatementRunner['run'] = async (plan, more = {}, dbMaxRows = null) => {
    const request = plannedRequest(more)
    const main = render(mainStatement(plan, request.shape, { dbMaxRows }))
    const [rows = []] = await execute(plan, request, [plan.explain ? main : { ...main, resultFormats }])
    if (plan.explain) return { ...readResult('read', []), body: explainBody(rows) }
    const row = readResult(plan.kind, rows)
    // Bodies are shown as text where they are valid UTF-8.
    return Buffer.isBuffer(row.body) && isUtf8(row.body) ? { ...row, body: row.body.toString() } : row
  }
  return {
    run,
    json: async (plan, request) => JSON.parse(textOf((await run(plan, request)).body)) as unknown,
    statements,
    end: () => client.end(),
  }
}

/** A body that has been received completely. */
export function textOf(body: Body): string {
  if (typeof body === 'string' || Buffer.isBuffer(body)) return body.toString()
  throw new Error('the body still arrives')
}

/** Checks exactly the fields that a test mentions. */
export function hasResult(t: Test, row: ResultRow, expected: Partial<ResultRow>, message = 'result'): void {
  const spokenOf = Object.entries(row).filter(([key]) => key in expected)
  t.strictSame(Object.fromEntries(spokenOf), expected, message)
}
