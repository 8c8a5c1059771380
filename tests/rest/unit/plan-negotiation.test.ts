import t from 'tap'
import type { MediaType } from '../../../server/rest/media-type.ts'
import { planRequest } from '../../../server/rest/plan/planner.ts'
import type { CrudPlan } from '../../../server/rest/plan/plan.ts'
import type { PlanSettings } from '../../../server/rest/plan/plan-context.ts'
import type { ApiRequest } from '../../../server/rest/request/api-request.ts'
import type { MediaHandler } from '../../../server/catalogue/media-handler.ts'
import { mediaHandlerKey } from '../../../server/catalogue/media-handler.ts'
import { apiErrorOf } from '../../support/api-error.ts'
import { aggregated, call, embed, mutate, read, request, settings } from '../../support/hand-built-request.ts'
import { foreignKey, qi, routine, schemaCache, table } from '../../support/small-schema-cache.ts'

const custom = (name: string, target: string | null = null): MediaHandler => ({
  kind: 'custom',
  function: qi(name),
  target: target === null ? null : qi(target),
})

const cache = schemaCache({
  tables: [table('maps', 'id integer'), table('pages', 'id integer'), table('colors', 'c api.color')],
  relationships: [foreignKey('fk', 'maps', 'id', 'pages', 'id')],
  routines: [routine('all_maps', '', 'setof maps!'), routine('number', '')],
  representations: [{ sourceType: 'api.color', targetType: 'json', function: 'f' }],
  handlers: new Map([
    [mediaHandlerKey(qi('maps'), 'image/png'), { handler: custom('png', 'maps'), mime: 'image/png' }],
    [mediaHandlerKey(qi('maps'), 'text/csv'), { handler: custom('csv', 'maps'), mime: 'text/csv' }],
    [mediaHandlerKey(qi('pages'), '*/*'), { handler: custom('html', 'pages'), mime: 'text/html' }],
    [mediaHandlerKey(qi('colors'), 'image/png'), { handler: custom('png', 'colors'), mime: 'image/png' }],
    [mediaHandlerKey(null, 'text/plain'), { handler: custom('text'), mime: 'text/plain' }],
  ]),
})

function planned(given: ApiRequest, changed: Partial<PlanSettings> = {}): CrudPlan {
  const plan = planRequest(given, cache, { ...settings, ...changed })
  if (plan.kind !== 'read' && plan.kind !== 'mutate' && plan.kind !== 'call') throw new Error(plan.kind)
  return plan
}

const other = (text: string): MediaType => ({ kind: 'other', text })
const any: MediaType = { kind: 'any' }
const csv: MediaType = { kind: 'csv' }
const xml: MediaType = { kind: 'xml' }
const png = other('image/png')
const object: MediaType = { kind: 'single-json', stripNulls: true }
const stripped: MediaType = { kind: 'array-json-strip' }

t.test('the first acceptable media type that can be produced is chosen', async (t) => {
  const json = { kind: 'json' } as const
  type Given = Parameters<typeof read>[1]
  const rows: [relation: string, given: Given, handler: MediaHandler, mediaType: MediaType][] = [
    ['maps', { accept: [any] }, json, json],
    ['maps', { accept: [xml, png, any] }, custom('png', 'maps'), png],
    ['maps', { accept: [csv] }, custom('csv', 'maps'), csv],
    ['maps', { accept: [{ kind: 'text' }] }, custom('text'), { kind: 'text' }],
    ['maps', { accept: [{ kind: 'geojson' }] }, { kind: 'geojson' }, { kind: 'geojson' }],
    ['maps', { accept: [object, any] }, object, object],
    ['maps', { accept: [stripped] }, stripped, stripped],
    // Handlers of the relation apply to whole rows.
    ['maps', { accept: [png, csv], select: ['id'] }, { kind: 'csv' }, csv],
    ['maps', { accept: [png, csv], select: ['*', 'id'] }, { kind: 'csv' }, csv],
    ['maps', { accept: [png, csv], select: ['*', embed('pages', ['id'])] }, { kind: 'csv' }, csv],
    ['maps', { accept: [png], select: [aggregated('count')] }, custom('png', 'maps'), png],
    ['colors', { accept: [png, any] }, json, json],
    // A handler for any media type responds to every Accept header, except for vendored types.
    ['pages', { accept: [any] }, custom('html', 'pages'), other('text/html')],
    ['pages', { accept: [other('video/mp4')] }, custom('html', 'pages'), other('text/html')],
    ['pages', { accept: [{ kind: 'json' }] }, custom('html', 'pages'), other('text/html')],
    ['pages', { accept: [object] }, object, object],
    ['pages', { accept: [any], select: ['id'] }, json, json],
  ]
  for (const [relation, given, handler, mediaType] of rows) {
    const plan = planned(read(relation, given))
    t.strictSame(
      [plan.handler, plan.mediaType, plan.explain],
      [handler, mediaType, false],
      JSON.stringify([relation, given]),
    )
  }
  t.strictSame(planned(call('get', 'all_maps', { accept: [png] })).handler, custom('png', 'maps'))
})

t.test('requests without a response body', async (t) => {
  const action = { kind: 'read', relation: qi('maps'), headersOnly: true } as const
  const rows: [given: ApiRequest, handler: string][] = [
    [request(action), 'none'],
    [call('head', 'number'), 'none'],
    [call('get', 'number'), 'json'],
    [call('post', 'number'), 'json'],
    [mutate('create', 'maps'), 'none'],
    [mutate('create', 'maps', { preferences: { representation: 'minimal', invalid: [] } }), 'none'],
    [mutate('create', 'maps', { preferences: { representation: 'headers-only', invalid: [] } }), 'none'],
    [mutate('create', 'maps', { preferences: { representation: 'representation', invalid: [] } }), 'json'],
  ]
  for (const [given, handler] of rows) {
    const plan = planned(given)
    t.strictSame([plan.handler.kind, plan.mediaType], [handler, { kind: 'json' }])
  }
})

t.test('unavailable media types are rejected', async (t) => {
  const accept: MediaType[] = [xml, { kind: 'plan', for: object, format: 'json', options: ['analyze', 'wal'] }, png]
  t.strictSame(
    apiErrorOf(() => planned(read('maps', { accept, select: ['id'] }))),
    {
      code: 'PGRST107',
      status: 406,
      message:
        'None of these media types are available: text/xml, application/vnd.pgrst.plan+json; for="application/vnd.pgrst.object+json;nulls=stripped"; options=analyze|wal, image/png',
      details: null,
      hint: null,
    },
  )
})

t.test('execution plans', async (t) => {
  const explain = (mediaType: MediaType): MediaType => ({ kind: 'plan', for: mediaType, format: 'text', options: [] })
  const rows: [mediaType: MediaType, handler: MediaHandler | undefined][] = [
    [{ kind: 'json' }, { kind: 'json' }],
    [csv, custom('csv', 'maps')],
    [object, object],
    [stripped, stripped],
    [xml, undefined],
    [explain({ kind: 'json' }), undefined],
  ]
  for (const [mediaType, handler] of rows) {
    const given = read('maps', { accept: [explain(mediaType)] })
    t.match(
      apiErrorOf(() => planned(given)),
      { code: 'PGRST107' },
      'unless they are enabled, they are rejected',
    )
    if (!handler) {
      t.match(
        apiErrorOf(() => planned(given, { dbPlanEnabled: true })),
        { code: 'PGRST107' },
      )
      continue
    }
    const plan = planned(given, { dbPlanEnabled: true })
    t.strictSame([plan.handler, plan.mediaType, plan.explain], [handler, explain(mediaType), true])
  }
})

t.test('media types are checked before strict preferences', async (t) => {
  const preferences = { handling: 'strict', invalid: ['a', 'b'] } as const
  t.match(
    apiErrorOf(() => planned(read('maps', { preferences, accept: [xml] }))),
    { code: 'PGRST107' },
  )
  t.match(
    apiErrorOf(() => planned(read('maps', { preferences }))),
    {
      code: 'PGRST122',
      details: 'Invalid preferences: a, b',
    },
  )
  t.equal(
    apiErrorOf(() => planned(read('maps', { preferences: { ...preferences, handling: 'lenient' } }))),
    undefined,
  )
})
