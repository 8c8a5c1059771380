import t from 'tap'
import { noRoleSettings, type RoleSettings } from '../../../server/rest/settings.ts'
import type { Identity } from '../../../server/identity/identity.ts'
import type { CrudPlan } from '../../../server/rest/plan/plan.ts'
import { render } from '../../../server/rest/sql/fragment.ts'
import { preRequestStatement, SettingsStatements } from '../../../server/rest/sql/settings.ts'
import {
  callPlan,
  calling,
  deletePlan,
  plannedRequest,
  readPlan,
  reading,
  relationship,
  routine,
  writing,
  type FlatRequest,
} from '../../support/plans.ts'

const read = reading(readPlan('items'))
const write = writing(deletePlan('items'))
const anonymous: Identity = { role: 'anon', claims: {} }
const config = { dbExtraSearchPath: ['public'], appSettings: [] as [string, string][] }

const settings = (
  plan: CrudPlan,
  {
    identity = anonymous,
    request = {},
    extra = {},
    roles = noRoleSettings,
  }: { identity?: Identity; request?: Partial<FlatRequest>; extra?: Partial<typeof config>; roles?: RoleSettings } = {},
) => new SettingsStatements({ ...config, ...extra }, roles).statement(identity, plannedRequest(request), plan)

const takeBack = (name: string, unset: string) =>
  `case when current_setting('${name}', true) <> '${unset}' then set_config('${name}', null, false) end`
const answerSettings = `${takeBack('response.headers', '')}, ${takeBack('response.status', '')}`

t.test('settings for an anonymous write', async (t) => {
  const { text, values } = settings(write, { request: { method: 'DELETE', path: '/items' } })
  t.strictSame(
    { text, values },
    {
      text:
        `select where num_nonnulls(${answerSettings}, set_config('search_path', $1, true), set_config('role', $2, true),` +
        " set_config('request.jwt.claims', $3, true)," +
        " set_config('request.method', $4, true), set_config('request.path', $5, true)," +
        " set_config('request.headers', $6, true), set_config('request.cookies', $7, true)) < 0",
      values: ['"api", "public"', 'anon', '{"role":"anon"}', 'DELETE', '/items', '{}', '{}'],
    },
  )
})

t.test('reads are read-only', async (t) => {
  t.ok(
    settings(read).text.startsWith(
      `select where num_nonnulls(set_config('transaction_read_only', 'on', true), ${answerSettings}, set_config('search_path'`,
    ),
  )
})

t.test('reads with many embeds limit the search for an order of joins', (t) => {
  const toParent = relationship('items', 'others', { kind: 'many-to-one', constraint: 'fk', columns: [] })
  const withEmbeds = (count: number): CrudPlan =>
    reading(readPlan('items', { embeds: Array.from({ length: count }, () => readPlan('others', { toParent })) }))
  t.notOk(settings(withEmbeds(16)).values.includes('join_collapse_limit'))
  t.strictSame(settings(withEmbeds(17)).values.slice(-2), ['join_collapse_limit', '1'])
  t.end()
})

t.test('all settings in order', async (t) => {
  const plan = calling(
    callPlan('f'),
    routine('f', { settings: [['statement_timeout', '1s']], isolationLevel: 'serializable' }),
  )
  const { text, values } = settings(plan, {
    identity: { role: 'web"user', claims: { sub: 'a', role: 'other', app: { z: [{ y: 1, x: 2 }], a: null } } },
    request: {
      schema: 'my "schema',
      method: 'POST',
      path: '/rpc/f',
      headers: [
        ['host', 'a'],
        ['x-twice', '1'],
        ['x-twice', '2'],
        ['__proto__', "o'hara"],
      ],
      cookies: [['session', 'x"y']],
      preferences: { timezone: 'Europe/Oslo', invalid: [] },
    },
    extra: { dbExtraSearchPath: ['public', 'Ext'], appSettings: [['app.settings.a', 'b']] },
    roles: { ...noRoleSettings, settings: new Map([['web"user', [['work_mem', '8MB']]]]) },
  })
  t.equal(
    text,
    `select where num_nonnulls(${answerSettings}, ${takeBack('role', 'none')},` +
      " set_config('search_path', $1, true), set_config($2, $3, true), set_config('role', $4, true)," +
      " set_config('request.jwt.claims', $5, true), set_config('request.method', $6, true)," +
      " set_config('request.path', $7, true), set_config('request.headers', $8, true)," +
      " set_config('request.cookies', $9, true), set_config('timezone', $10, true)," +
      ' set_config($11, $12, true), set_config($13, $14, true)) < 0',
  )
  t.strictSame(values, [
    '"my ""schema", "public", "Ext"',
    'work_mem',
    '8MB',
    'web"user',
    '{"app":{"a":null,"z":[{"x":2,"y":1}]},"role":"web\\"user","sub":"a"}',
    'POST',
    '/rpc/f',
    `{"host":"a","x-twice":"2","__proto__":"o'hara"}`,
    '{"session":"x\\"y"}',
    'Europe/Oslo',
    'statement_timeout',
    '1s',
    'app.settings.a',
    'b',
  ])
})

t.test('hostile claim names remain JSON keys', async (t) => {
  const claims = JSON.parse('{"__proto__":{"admin":true},"constructor":1}') as Identity['claims']
  t.equal(
    settings(write, { identity: { role: 'r', claims } }).values[2],
    '{"__proto__":{"admin":true},"constructor":1,"role":"r"}',
  )
})

t.test('the settings of one role are not applied to another', async (t) => {
  const roles = { ...noRoleSettings, settings: new Map([['someone', [['work_mem', '8MB'] as const]]]) }
  t.equal(settings(write, { roles }).text, settings(write).text)
})

t.test('the name of the pre-request function is quoted', async (t) => {
  t.equal(render(preRequestStatement({ schema: 'a"b', name: 'c' })).text, 'select "a""b"."c"()')
  t.equal(render(preRequestStatement({ schema: '', name: 'c' })).text, 'select "c"()')
})
