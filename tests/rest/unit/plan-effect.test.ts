// Which requests are known to set neither `response.headers` nor `response.status`: with and without the plan cache.
import t from 'tap'
import { qualifiedKey } from '../../../server/catalogue/identifier.ts'
import type { SchemaCache } from '../../../server/catalogue/schema-cache.ts'
import { loadConfig } from '../../../server/config/load.ts'
import { prepare } from '../../../server/rest/cache/prepare.ts'
import { ApiError } from '../../../server/rest/errors.ts'
import { isQuiet } from '../../../server/rest/plan/effect.ts'
import { extensionsOf, partsOf } from '../../../server/rest/extension.ts'
import { createExtensions } from '../../../server/rest/extensions/list.ts'
import { noRoleSettings } from '../../../server/rest/settings.ts'
import { Snapshot } from '../../../server/rest/snapshot.ts'
import { createValidator } from '../../../server/validation/validator.ts'
import { computed, foreignKey, manyToMany, routine, schemaCache, table } from '../../support/small-schema-cache.ts'

const link = { constraint: 'fk', columns: [['id', 'project_id']] } as const
const names = ['projects', 'clients', 'users', 'tags', 'loud', 'audited']
const keys = (...of: string[]): Set<string> => new Set(of.map((name) => qualifiedKey('api', name)))

const cache: SchemaCache = {
  ...schemaCache({
    tables: names.map((name) => table(name, 'id integer, name text, client_id integer, loud_id integer', 'id')),
    relationships: [
      foreignKey('client', 'projects', 'client_id', 'clients', 'id'),
      foreignKey('audit', 'clients', 'loud_id', 'loud', 'id'),
      manyToMany('projects', 'tags', 'audited', link, link),
      computed('owner', 'projects', 'users', true),
      computed('watcher', 'projects', 'loud', true),
    ],
    routines: [
      routine('me', '', 'pg_catalog.int4', 'stable'),
      routine('noisy', '', 'pg_catalog.int4', 'stable'),
      routine('defaulted', 'a integer?', 'pg_catalog.int4', 'stable'),
      routine('own', '', 'setof projects!', 'stable'),
      routine('others', '', 'setof loud!', 'stable'),
    ],
  }),
  stableRelations: keys(...names),
  quietRelations: keys('projects', 'clients', 'users', 'tags'),
  quietRoutines: keys('me', 'defaulted', 'own', 'others'),
}
const { config } = loadConfig({ env: { PGRST_DB_SCHEMAS: 'api', PGRST_DB_PLAN_ENABLED: 'true', PGRST_DB_AGGREGATES_ENABLED: 'true' } }) // prettier-ignore
const validator = await createValidator()
const extensions = extensionsOf(createExtensions({ settings: config }))
const snapshot = new Snapshot({ config, roleSettings: noRoleSettings }, cache, partsOf(extensions))

type Case = readonly [target: string, hasNoEffect: boolean, isQuiet: boolean, more?: { method?: string; body?: string; accept?: string }] // prettier-ignore
const cases: readonly Case[] = [
  ['/projects?id=eq.1', true, true],
  ['/projects?id=eq.1', true, true, { method: 'HEAD' }],
  ['/loud?id=eq.1', true, false],
  ['/projects?select=id,clients(name)', true, true],
  ['/projects?select=id,...clients(name,projects(id))', true, true],
  ['/projects?select=id,clients(name,loud(id))', true, false],
  ['/projects?select=id,...clients(...loud(name))', true, false],
  ['/projects?select=id,tags(name)', true, false],
  ['/projects?select=id,owner(name)', true, true],
  ['/projects?select=id,watcher(name)', true, false],
  ['/projects?select=id.max()', false, false],
  ['/projects?id=eq.1', false, false, { accept: 'application/vnd.pgrst.plan' }],
  ['/projects', false, false, { method: 'POST', body: '{"id":1}' }],
  ['/rpc/me', true, true],
  ['/rpc/me', true, true, { method: 'POST', body: '{}' }],
  ['/rpc/noisy', true, false],
  ['/rpc/defaulted', false, false],
  ['/rpc/own?select=id,clients(name)', true, true],
  ['/rpc/own?select=id,clients(loud(name))', true, false],
  ['/rpc/others', true, false],
]

for (const [target, hasNoEffect, quiet, { method = 'GET', body = '', accept = '*/*' } = {}] of cases) {
  t.test(`${method} ${target} ${accept}`, (t) => {
    const [path = '', query = ''] = target.split('?')
    const headers = [['accept', accept], ...(body === '' ? [] : [['content-type', 'application/json'] as const])] as const // prettier-ignore
    // The last one has its plan from the cache.
    for (let round = 0; round < 4; round++) {
      const http = { method, path, query, headers, body: Buffer.from(body) }
      const found = prepare(http, { snapshot, extensions, schemaCache: cache, validator }, () => undefined)
      if (found instanceof ApiError) throw found
      t.strictSame([found.hasNoEffect, isQuiet(found.plan, cache)], [hasNoEffect, quiet])
      // Rows say nothing of both, unless a statement reads them afterwards.
      t.ok(quiet || (found.rows?.plan.isLoud ?? true))
      t.equal(
        found.rows?.plan.isOnlyForm ?? false,
        found.rows !== undefined && !hasNoEffect,
        'what may have an effect runs once',
      )
    }
    t.end()
  })
}
