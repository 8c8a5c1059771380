import t from 'tap'
import type { CrudPlan } from '../../../server/rest/plan/plan.ts'
import { render } from '../../../server/rest/sql/fragment.ts'
import { bodySql } from '../../../server/rest/sql/handler.ts'
import { explainCountStatement, mainStatement, needsPlannedCount } from '../../../server/rest/sql/statement.ts'
import type { StatementShape } from '../../../server/rest/sql/statement.ts'
import type { MediaHandler } from '../../../server/catalogue/media-handler.ts'
import type { Routine } from '../../../server/catalogue/routine.ts'
import {
  requestShape,
  callPlan,
  calling,
  deletePlan,
  field,
  insertPlan,
  readPlan,
  reading,
  routine,
  writing,
} from '../../support/plans.ts'

const text = (plan: CrudPlan, request: Partial<StatementShape> = {}, dbMaxRows: number | null = null) =>
  render(mainStatement(plan, requestShape(request), { dbMaxRows })).text

const prefer = (count: 'exact' | 'planned' | 'estimated') => ({ preferences: { count, invalid: [] } })
const limited = { topLevelRange: { offset: 0, limit: 5 } }

const settings =
  "nullif(current_setting('response.headers', true), '') AS response_headers, " +
  "nullif(current_setting('response.status', true), '') AS response_status"
const rows = 'SELECT "api"."items".* FROM "api"."items"'
const json = "coalesce(json_agg(_postgrest_t), '[]') AS body"
const none = 'array[]::text[] AS header'
const readOf = (cte: string, total: string) =>
  `WITH pgrst_source AS ( ${rows} ) ${cte} SELECT ${total} AS total_result_set,` +
  ` pg_catalog.count(*) AS page_total, ${none}, ${settings}, '' AS response_inserted, ${json}` +
  ' FROM ( SELECT * FROM pgrst_source ) _postgrest_t'
const separately = '(SELECT pg_catalog.count(*) FROM pgrst_source_count)'

t.test('reads', async (t) => {
  const plan = reading(readPlan('items'))
  t.equal(text(plan), readOf('', 'null::bigint'))
  t.equal(text(plan, prefer('planned')), readOf('', 'null::bigint'))
  t.equal(text(plan, prefer('exact')), readOf('', 'pg_catalog.count(*)'), 'the page contains all rows')
  const count = ', pgrst_source_count AS (SELECT 1 FROM "api"."items")'
  t.equal(text(plan, { ...prefer('exact'), ...limited }), readOf(count, separately))
  t.equal(text(plan, prefer('exact'), 10), readOf(count, separately))
  t.equal(text(plan, { ...prefer('estimated'), ...limited }), readOf(count, separately))
  t.equal(
    text(plan, prefer('estimated'), 10),
    readOf(', pgrst_source_count AS (SELECT 1 FROM "api"."items" LIMIT 11)', separately),
  )
})

t.test('planned counts', async (t) => {
  const plan = reading(readPlan('items'))
  t.equal(render(explainCountStatement(plan.read)).text, 'EXPLAIN (FORMAT JSON) SELECT 1 FROM "api"."items"')
  t.equal(needsPlannedCount(plan, requestShape(prefer('planned'))), true)
  t.equal(needsPlannedCount(plan, requestShape(prefer('estimated'))), true)
  t.equal(needsPlannedCount(plan, requestShape(prefer('exact'))), false)
  t.equal(needsPlannedCount(calling(callPlan('f'), routine('f')), requestShape(prefer('planned'))), false)
})

t.test('writes', async (t) => {
  const noLocation = 'array[]::text[]'
  const writeOf = (location: string, body: string, inserted: string, source: string) =>
    `SELECT '' AS total_result_set, pg_catalog.count(*) AS page_total, ${location} AS header,` +
    ` ${settings}, ${inserted} AS response_inserted, ${body} FROM (${source}) _postgrest_t`
  const noBody = "''::text AS body"
  const source = 'SELECT * FROM pgrst_source'

  const minimal = writing(deletePlan('items'), { handler: { kind: 'none' } })
  t.equal(
    text(minimal),
    `WITH pgrst_source AS (DELETE FROM "api"."items" RETURNING 1) ${writeOf(noLocation, noBody, "''", source)}`,
  )

  const full = writing(deletePlan('items', { returning: ['*'] }))
  const returned = 'SELECT "items".* FROM "pgrst_source" AS "items"'
  t.equal(
    text(full),
    `WITH pgrst_source AS (DELETE FROM "api"."items" RETURNING "api"."items".*) ${writeOf(noLocation, json, "''", returned)}`,
  )

  const insert = insertPlan('items', [field('id', { type: 'int' })], '{}', { primaryKey: ['id', "o'id"] })
  const created = writing(insert, { handler: { kind: 'none' } })
  const location =
    'CASE WHEN pg_catalog.count(_postgrest_t) = 1 THEN coalesce((WITH data AS (SELECT row_to_json(_) AS row' +
    " FROM pgrst_source AS _ LIMIT 1) SELECT array_agg(json_data.key || '=' || coalesce('eq.' || json_data.value," +
    " 'is.null')) FROM data CROSS JOIN json_each_text(data.row) AS json_data" +
    ` WHERE json_data.key IN ('id','o''id')), ${noLocation}) ELSE ${noLocation} END`
  t.ok(
    text(created, { preferences: { representation: 'headers-only', invalid: [] } }).endsWith(
      writeOf(location, noBody, "''", source),
    ),
  )
  const count = "nullif(current_setting('pgrst.inserted', true),'')::int"
  t.ok(
    text(created, { preferences: { resolution: 'merge-duplicates', invalid: [] } }).endsWith(
      writeOf(noLocation, noBody, count, source),
    ),
  )
  t.ok(
    text(created, { preferences: { resolution: 'ignore-duplicates', invalid: [] } }).endsWith(
      writeOf(noLocation, noBody, "''", source),
    ),
  )
})

t.test('calls', async (t) => {
  const callOf = (call: string, cte: string, total: string, page: string, body: string, source: string) =>
    `WITH pgrst_source AS (${call}) ${cte} SELECT ${total} AS total_result_set, ${page} AS page_total,` +
    ` ${none}, ${settings}, '' AS response_inserted, ${body} AS body FROM (${source}) _postgrest_t`
  const scalar = calling(callPlan('f', { returnsScalar: true }), routine('f'))
  const call = 'SELECT pgrst_call.pgrst_scalar FROM (SELECT "api"."f"() pgrst_scalar) pgrst_call'
  const body = "coalesce(json_agg(_postgrest_t.pgrst_scalar)->0, 'null')"
  const source = 'SELECT "f".* FROM "pgrst_source" AS "f"'
  t.equal(text(scalar), callOf(call, '', 'null::bigint', '1', body, source))
  t.equal(text(scalar, prefer('exact')), callOf(call, '', '1', '1', body, source))
  t.equal(
    text(scalar, { ...prefer('estimated'), ...limited }),
    callOf(call, ', pgrst_source_count AS (SELECT 1 FROM "pgrst_source" AS "f")', separately, '1', body, source),
  )
})

t.test('execution plans', async (t) => {
  const mediaType = { kind: 'plan', for: { kind: 'json' }, format: 'text', options: ['analyze', 'wal'] } as const
  const plan = reading(readPlan('items'), { mediaType, explain: true })
  // Columns have the names that clients find in PostgREST's plans.
  t.equal(
    text(plan),
    `EXPLAIN (FORMAT TEXT, ANALYZE, WAL) WITH pgrst_source AS ( ${rows} )  SELECT null::bigint AS total_result_set,` +
      ` pg_catalog.count(_postgrest_t) AS page_total, ${json}, ${settings}, '' AS response_inserted` +
      ' FROM ( SELECT * FROM pgrst_source ) _postgrest_t',
  )
})

const returning = (setOf: boolean, composite: boolean): Routine =>
  routine('f', { returns: { setOf, composite, compositeAlias: false, type: { schema: 'api', name: 'items' } } })
const custom = (target: string | null): MediaHandler => ({
  kind: 'custom',
  function: { schema: 'api', name: 'to"x' },
  target: target === null ? null : { schema: 'api', name: target },
})

const bodies: readonly (readonly [MediaHandler, Routine | null, string])[] = [
  [{ kind: 'json' }, null, "coalesce(json_agg(_postgrest_t), '[]')"],
  [{ kind: 'json' }, returning(true, true), "coalesce(json_agg(_postgrest_t), '[]')"],
  [{ kind: 'json' }, returning(false, true), "coalesce(json_agg(_postgrest_t)->0, 'null')"],
  [{ kind: 'json' }, returning(false, false), "coalesce(json_agg(_postgrest_t.pgrst_scalar)->0, 'null')"],
  [{ kind: 'json' }, returning(true, false), "coalesce(json_agg(_postgrest_t.pgrst_scalar), '[]')"],
  [{ kind: 'array-json-strip' }, null, "coalesce(json_strip_nulls(json_agg(_postgrest_t)), '[]')"],
  [{ kind: 'single-json', stripNulls: false }, null, "coalesce(json_agg(_postgrest_t)->0, 'null')"],
  [
    { kind: 'single-json', stripNulls: true },
    returning(true, true),
    "coalesce(json_strip_nulls(json_agg(_postgrest_t)->0), 'null')",
  ],
  [
    { kind: 'single-json', stripNulls: false },
    returning(false, false),
    "coalesce(json_agg(_postgrest_t.pgrst_scalar)->0, 'null')",
  ],
  [custom(null), null, '"api"."to""x"(_postgrest_t)'],
  [custom('items'), null, '"api"."to""x"(_postgrest_t::"api"."items")'],
  [custom('items'), returning(false, false), '"api"."to""x"(_postgrest_t.pgrst_scalar)'],
  [custom(null), returning(true, false), '"api"."to""x"(_postgrest_t)'],
  [{ kind: 'none' }, null, "''::text"],
]

for (const [handler, called, expected] of bodies) {
  t.test(`body: ${expected}`, async (t) => {
    t.equal(bodySql(handler, called), expected)
  })
}
