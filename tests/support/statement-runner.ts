// Runs the statements of a plan as a request would, in a transaction that is rolled back.
import pg from 'pg'
import type { Test } from 'tap'
import type { Identity } from '../../server/identity/identity.ts'
import type { CrudPlan } from '../../server/rest/plan/plan.ts'
import type { ApiRequest } from '../../server/rest/request/api-request.ts'
import { explainBody, resultRow } from '../../server/rest/response/result-row.ts'
import type { ResultRow } from '../../server/rest/response/result.ts'
import { render } from '../../server/rest/sql/fragment.ts'
import type { Fragment } from '../../server/rest/sql/fragment.ts'
import { settingsStatement } from '../../server/rest/sql/settings.ts'
import { mainStatement } from '../../server/rest/sql/statement.ts'
import type { TestDatabase } from './database.ts'
import { apiRequest } from './plans.ts'

export type StatementRunner = {
  /** The row of a plan's main statement. */
  readonly run: (plan: CrudPlan, request?: Partial<ApiRequest>, dbMaxRows?: number | null) => Promise<ResultRow>
  /** The body of a plan's main statement, as parsed JSON. */
  readonly json: (plan: CrudPlan, request?: Partial<ApiRequest>) => Promise<unknown>
  /** Runs statements after the settings of a plan; columns of the last one's rows, in text format. */
  readonly statements: (
    plan: CrudPlan,
    request: ApiRequest,
    ...fragments: readonly Fragment[]
  ) => Promise<{ readonly rows: readonly (readonly (string | null)[])[]; readonly types: readonly number[] }>
  readonly end: () => Promise<void>
}

const asText = { getTypeParser: () => (value: unknown) => value }

export async function statementRunner(database: TestDatabase, identity: Identity): Promise<StatementRunner> {
  const client = new pg.Client({ connectionString: database.adminUri })
  await client.connect()
  const execute = (fragment: Fragment) => {
    const { text, values } = render(fragment)
    return client.query<(string | null)[]>({ text, values: [...values], rowMode: 'array', types: asText })
  }
  const statements: StatementRunner['statements'] = async (plan, request, ...fragments) => {
    await client.query('begin')
    try {
      const config = { dbExtraSearchPath: ['public'], appSettings: [] }
      let result = await execute(
        settingsStatement(identity, request, plan, config, { settings: new Map(), isolationLevels: new Map() }),
      )
      for (const fragment of fragments) result = await execute(fragment)
      return { rows: result.rows, types: result.fields.map(({ dataTypeID }) => dataTypeID) }
    } finally {
      await client.query('rollback')
    }
  }
  const run: StatementRunner['run'] = async (plan, more = {}, dbMaxRows = null) => {
    const request = apiRequest(more)
    const { rows, types } = await statements(plan, request, mainStatement(plan, request, { dbMaxRows }))
    if (plan.explain)
      return { ...resultRow('read', undefined, 0), body: explainBody(rows.map(([line = null]) => line)) }
    return resultRow(plan.kind, rows[0], types[plan.kind === 'mutate' ? 3 : 2] ?? 0)
  }
  return {
    run,
    json: async (plan, request) => JSON.parse((await run(plan, request)).body.toString()) as unknown,
    statements,
    end: () => client.end(),
  }
}

/** Checks the fields that a test speaks of, exactly. */
export function hasResult(t: Test, row: ResultRow, expected: Partial<ResultRow>, message = 'result'): void {
  const spokenOf = Object.entries(row).filter(([key]) => key in expected)
  t.strictSame(Object.fromEntries(spokenOf), expected, message)
}
