// No cache retains what a caller sent: after requests have filled every cache (plans, rejections, tokens, API keys,
// statement names), the heap contains none of their texts. The only exception are verified tokens.
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { createApiKey } from '../../../server/identity/api-key/api-key.ts'
import { jwtSecret } from '../../support/application.ts'
import { createMigratedDatabase, withClient } from '../../support/database.ts'
import { loadFixture } from '../../support/fixture.ts'
import { says, startProgram } from '../../support/program.ts'
import { RawConnection, requestHead, type RawResponse } from '../../support/raw-connection.ts'
import { signToken } from '../../support/token.ts'
import { until } from '../../support/until.ts'

const database = await createMigratedDatabase()
t.teardown(() => database.drop())
await loadFixture(database, 'cache-differential')
// V8 represents a substring of 13 characters or more as a slice of the URL, which keeps the whole URL in memory.
await database.query(`
  create view public.items_by_a_long_name with (security_invoker) as select * from public.items;
  grant select on public.items_by_a_long_name to authenticated, service_role`)
const { key } = await withClient(database.adminUri, (client) =>
  createApiKey(client, { role: 'service_role', label: 'test' }),
)
const token = await signToken({ role: 'authenticated', sub: 'ann', exp: 4_000_000_000 })

const folder = mkdtempSync(join(tmpdir(), 'rowhouse-heap-'))
t.teardown(() => rmSync(folder, { recursive: true }))
const program = startProgram(t, {
  DATABASE_URL: database.authenticatorUri,
  PGRST_JWT_SECRET: jwtSecret,
  PGRST_LOG_LEVEL: 'info',
  REST_BASE_PATH: '/rest/v1',
  NODE_OPTIONS: `--heapsnapshot-signal=SIGUSR2 --diagnostic-dir=${folder}`,
})
await program.line(says('listening'))

/** Sends a request on a new connection, so that no connection retains it. */
async function ask(
  method: string,
  target: string,
  headers: readonly (readonly [string, string])[] = [],
  body = '',
): Promise<RawResponse> {
  const connection = new RawConnection(program.url())
  const length: readonly (readonly [string, string])[] = body === '' ? [] : [['Content-Length', `${body.length}`]]
  const head = requestHead(method, `/rest/v1${target}`, [['Host', 'test'], ...headers, ...length])
  const response = await connection.send({ head, body, isHead: false })
  connection.close()
  return response
}

/** The strings on the heap after garbage collection. */
async function heapTexts(): Promise<readonly string[]> {
  program.kill('SIGUSR2')
  let snapshot: { strings: string[] } | undefined
  const isWritten = async (): Promise<boolean> => {
    const [name] = readdirSync(folder)
    if (name === undefined) return false
    try {
      snapshot = JSON.parse(await readFile(join(folder, name), 'utf8')) as { strings: string[] }
      return true
    } catch {
      // The string is incomplete.
      return false
    }
  }
  if (!(await until(isWritten)) || !snapshot) throw new Error('no heap snapshot was written')
  return snapshot.strings
}

t.test('the heap contains no text that a caller sent', async (t) => {
  const secret = {
    value: 'needle-of-a-filter',
    refused: 'needle-of-a-rejection',
    body: 'needle-of-a-body',
    header: 'needle-of-a-header',
    cookie: 'needle-of-a-cookie',
  }
  const personal = [
    ['X-Secret', secret.header],
    ['Cookie', `session=${secret.cookie}`],
  ] as const
  const credentials = [[['Authorization', `Bearer ${token}`]], [['apikey', key]]] as const
  for (const [index, credential] of credentials.entries()) {
    const headers = [...credential, ...personal]
    for (let time = 0; time < 5; time++) {
      t.equal((await ask('GET', `/items?name=eq.${secret.value}&id=gt.1`, headers)).status, 200)
      t.equal((await ask('GET', `/items_by_a_long_name?name=eq.${secret.value}`, headers)).status, 200)
      t.equal((await ask('GET', `/nothing_by_this_name?name=eq.${secret.refused}`, headers)).status, 404)
      t.equal((await ask('GET', `/items?name=equals.${secret.refused}`, headers)).status, 400)
      const row = JSON.stringify({ id: 100 + 10 * index + time, name: secret.body, owner: 'ann' })
      t.ok((await ask('POST', '/items', [...headers, ['Content-Type', 'application/json']], row)).status < 500)
    }
  }
  // The last request of each kind may remain in a parser or a regular expression until the next one replaces it.
  for (let time = 0; time < 20; time++) {
    await ask('GET', `/items?name=eq.other&id=gt.${time}`, [['Authorization', 'Bearer x.y.z']])
    await ask('GET', `/items?name=eq.other&id=gt.${time}`)
    await ask(
      'POST',
      '/items',
      [
        ['Content-Type', 'application/json'],
        ['Cookie', 'a=b'],
      ],
      '{"id":1,"name":"x"}',
    )
  }
  const texts = await heapTexts()
  t.ok(texts.length > 10_000, 'the snapshot contains the texts of the program')
  t.ok(
    texts.some((text) => text.includes('"items"')),
    'a statement for the table is cached',
  )
  for (const [name, needle] of Object.entries({ ...secret, key })) {
    t.strictSame(
      texts.filter((text) => text.includes(needle)),
      [],
      name,
    )
  }
  const credential = texts.filter((text) => text.includes(token)).map((text) => text.replace('Bearer ', ''))
  t.strictSame(credential, [token], 'a verified token is the key of its entry, and nowhere else')
})
