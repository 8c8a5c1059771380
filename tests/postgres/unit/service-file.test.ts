// Connections by the name of a service (`PGSERVICE`, `service=`), as in libpq.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { connectionPlan } from '../../../server/postgres/connection/connection-plan.ts'
import { toPoolConfig } from '../../../server/running/connection-setting.ts'

const folder = mkdtempSync(join(tmpdir(), 'rowhouse-service-'))
t.teardown(() => rmSync(folder, { recursive: true }))
const path = join(folder, 'services.conf')
const system = join(folder, 'system')
mkdirSync(system)

writeFileSync(
  path,
  `# services

  [shop]
host=db.shop.test
port=5433
dbname=shop
user=clerk
password=p = 1
host=second.test

[shop_two]
host=two.test
[nested]
service=shop
[unknown]
hots=secret-word
[bare]
secret-word
[directory]
ldap://ldap.test/dc=shop
[shop]
host=never.test
`,
)
writeFileSync(join(system, 'pg_service.conf'), '[everywhere]\nhost=system.test\n[shop]\nhost=system.test\n')

const files = { PGSERVICEFILE: path, PGSYSCONFDIR: system }

type Expected = { host?: string; port?: number; user?: string; database?: string; password?: string }

const services: readonly [string, Record<string, string>, Expected][] = [
  ['postgresql://', { PGSERVICE: 'shop' },
    { host: 'db.shop.test', port: 5433, user: 'clerk', database: 'shop', password: 'p = 1' }],
  ['service=shop', {}, { host: 'db.shop.test', user: 'clerk' }],
  ['postgresql://?service=shop', {}, { host: 'db.shop.test', user: 'clerk' }],
  ['postgresql://me@/mine?service=shop', {}, { host: 'db.shop.test', user: 'me', database: 'mine' }],
  ['postgresql://other.test', { PGSERVICE: 'shop' }, { host: 'other.test', port: 5433 }],
  ['service=shop_two', { PGSERVICE: 'shop' }, { host: 'two.test' }],
  ['service=shop', { PGUSER: 'u', PGHOST: 'h', PGDATABASE: 'd' }, { host: 'db.shop.test', user: 'clerk', database: 'shop' }],
  ['service=shop_two', { PGUSER: 'u', PGDATABASE: 'd' }, { host: 'two.test', user: 'u', database: 'd' }],
  ['service=everywhere', {}, { host: 'system.test' }],
  ['postgresql://h', { PGSERVICE: '' }, { host: 'h' }],
] // prettier-ignore

t.test('settings of services', async (t) => {
  for (const [text, env, expected] of services) {
    const { targets, ...plan } = connectionPlan(text, { ...files, ...env })
    t.match({ ...plan, ...targets[0] }, expected, `${text} ${JSON.stringify(env)}`)
  }
})

const faults: readonly [string, Record<string, string>, string][] = [
  ['nowhere', files, 'definition of service "nowhere" not found'],
  ['nested', files, `nested service specifications not supported in service file "${path}", line 14`],
  ['unknown', files, `syntax error in service file "${path}", line 16`],
  ['bare', files, `syntax error in service file "${path}", line 18`],
  ['directory', files, `LDAP is not supported in service file "${path}", line 20`],
  ['shop', { PGSERVICEFILE: '/nowhere' }, 'service file "/nowhere" not found'],
  ['shop', { PGSERVICEFILE: folder }, `service file "${folder}" cannot be read: EISDIR: illegal operation on a directory, read`],
] // prettier-ignore

t.test('invalid services are rejected', async (t) => {
  for (const [service, env, message] of faults) {
    t.throws(
      () => toPoolConfig(`service=${service}`, env),
      { message: `Error in config\n  db-uri: ${message}` },
      service,
    )
  }
})
