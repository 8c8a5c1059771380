// Random batches, compared with the same requests one after another in one SQL transaction, on an equal database.
import t, { type Test } from 'tap'
import { OpenTransaction } from '../../server/postgres/open-transaction.ts'
import { PipelineClient } from '../../server/postgres/protocol/pipeline-client.ts'
import { extensionsOf } from '../../server/rest/extension.ts'
import { createExtensions } from '../../server/rest/extensions/list.ts'
import { RestHandler } from '../../server/rest/handler.ts'
import type { RestRequest } from '../../server/rest/rest-request.ts'
import type { TestDatabase } from '../support/database.ts'
import { generatedBatch, type GeneratedPart } from '../support/generated-batches.ts'
import { keepRowVersions } from '../support/row-versions.ts'
import { seededRandom, testSeed } from '../support/seeded-random.ts'
import { startWrites, type WritesService } from '../support/writes-service.ts'

const env = {
  PGRST_DB_TX_END: 'commit',
  PGRST_DB_AGGREGATES_ENABLED: 'true',
  PGRST_DB_CHANNEL_ENABLED: 'false',
  PGRST_LOG_LEVEL: 'crit',
  SERVICES: 'rest',
}
const batched = await startWrites(t, env)
const sequential = await startWrites(t, env)
// Clients hang up in one database only, where they leave rows of other transactions.
for (const { database } of [batched, sequential]) await keepRowVersions(database)

type Answer = { readonly status: number; readonly headers: Readonly<Record<string, string>>; readonly body: unknown }

/** Answers requests in the transaction of a connection. */
class Sequence {
  readonly #handler: RestHandler
  readonly #client: PipelineClient

  constructor(client: PipelineClient, { service }: WritesService) {
    this.#client = client
    const { snapshot } = service.engine
    this.#handler = new RestHandler({
      extensions: extensionsOf(createExtensions({ settings: snapshot.config })),
      state: { database: new OpenTransaction(client), snapshot, recover: () => undefined },
      identify: () => ({ role: 'garage_anon', claims: { role: 'garage_anon' } }),
      validator: { forTable: () => undefined },
      streamsRows: false,
      observe: () => undefined,
    })
  }

  /** The answers up to the first error, which undoes all. */
  async run(parts: readonly GeneratedPart[]): Promise<readonly Answer[]> {
    const answers: Answer[] = []
    const bodies = new Map<string, unknown>()
    await this.#client.query('begin')
    for (const part of parts) {
      // A read makes the transaction read-only up to the end of its savepoint.
      await this.#client.query('savepoint one')
      const answer = await this.#answer(part, bodies)
      answers.push(answer)
      if (answer.status >= 400) {
        await this.#client.query('rollback')
        return answers
      }
      bodies.set(part.id, answer.body)
      await this.#client.query('release one; reset timezone')
    }
    await this.#client.query('commit')
    return answers
  }

  async #answer(part: GeneratedPart, bodies: ReadonlyMap<string, unknown>): Promise<Answer> {
    const valueOf = (reference: string): unknown => {
      const [id = '', name = ''] = reference.split('#/')
      return (bodies.get(id) as Record<string, unknown> | undefined)?.[name]
    }
    let isMissing = false
    const value = (reference: string): unknown => {
      const found = valueOf(reference)
      isMissing ||= found === undefined
      return found
    }
    const isFilled = part.url.includes('${')
    const url = part.url.replaceAll(/\$\{([^}]*)\}/g, (_, reference: string) => {
      const text = String(value(reference))
      const isListed = /[=(](?:in\.\(|or=)|or=\(/.test(part.url)
      return encodeURIComponent(isListed ? `"${text.replace(/["\\]/g, '\\$&')}"` : text)
    })
    const body = part.body
      ?.replaceAll(/\{"\$ref": "(p0#\/\w+)"\}/g, (_, reference: string) => JSON.stringify(value(reference)))
      .replace('{"$$ref"', '{"$ref"')
    if (isMissing) return { status: 400, headers: {}, body: { code: 'PGRSTX12' } }
    const target = isFilled ? url : part.url
    const headers = Object.entries(part.headers).map(([name, text]) => [name.toLowerCase(), text] as const)
    if (part.isJson && body !== undefined && !headers.some(([name]) => name === 'content-type'))
      headers.push(['content-type', 'application/json'])
    const request: RestRequest = {
      method: part.method,
      basePath: '/rest/v1',
      target: Buffer.from(target).toString('latin1'),
      headers,
      source: undefined,
      isOpenEnded: false,
      isAborted: false,
      isGone: false,
      header: (name) => headers.find(([found]) => found === name)?.[1],
      onGone: () => () => undefined,
      readBody: () => Promise.resolve(Buffer.from(body ?? '')),
    }
    const { status, headers: sent, body: bytes } = await this.#handler.answer(request)
    const text = typeof bytes === 'string' ? bytes : Buffer.isBuffer(bytes) ? bytes.toString() : ''
    const named = Object.fromEntries(
      sent.map(([name, text]) => [name.toLowerCase(), Buffer.from(text, 'latin1').toString()]),
    )
    const isJson = (named['content-type'] ?? '').includes('json') && !(named['content-type'] ?? '').includes('ndjson')
    const isEmpty = text === '' || part.method === 'HEAD'
    return { status, headers: named, body: isEmpty ? undefined : isJson ? (JSON.parse(text) as unknown) : text }
  }
}

/** Leaves out headers that are those of the whole message, on the time or on the database. Tags and cursors are only compared by presence. */
const shown = (headers: Readonly<Record<string, string>>): Record<string, string> =>
  Object.fromEntries(
    Object.entries(headers)
      .filter(([name]) => !['content-length', 'date', 'server', 'cache-control', 'vary'].includes(name))
      .map(([name, value]) => [name, name === 'etag' ? 'tag' : value.replaceAll(/cursor=[\w-]+/g, 'cursor=')]),
  )

async function stateOf(database: TestDatabase): Promise<unknown> {
  const tables = await database.query(`select format('%I.%I', schemaname, tablename) as name from pg_tables
    where schemaname in ('garage', 'depot') order by 1`)
  const rows = tables.rows.map(
    ({ name }) =>
      `select '${String(name)}' as t, coalesce(jsonb_agg(to_jsonb(r) order by to_jsonb(r)), '[]') as rows from ${String(name)} r`,
  )
  return (await database.query(rows.join(' union all '))).rows
}

/** An undone batch may have taken more numbers from sequences than the requests up to its error. */
const levelSequences = (database: TestDatabase, value: number): Promise<unknown> =>
  database.query(`select setval(format('%I.%I', schemaname, sequencename), ${value}) from pg_sequences
    where schemaname in ('garage', 'depot')`)

const requestsOf = (parts: readonly GeneratedPart[]): string =>
  `{"requests":[${parts
    .map(({ id, method, url, headers, body, isJson }) => {
      const text = body === undefined ? '' : `,"body":${isJson ? body : JSON.stringify(body)}`
      return `{"id":"${id}","method":"${method}","url":${JSON.stringify(url)},"headers":${JSON.stringify(headers)}${text}}`
    })
    .join(',')}]}`

function compare(t: Test, parts: readonly GeneratedPart[], body: unknown, status: number, answers: readonly Answer[]) {
  const text = requestsOf(parts)
  const last = answers.at(-1)
  if (last && last.status >= 400) {
    const failed = parts[answers.length - 1]
    const error = body as { readonly code: string; readonly request?: string }
    t.equal(status, last.status, `${text}\n${JSON.stringify(body)}\n${JSON.stringify(last.body)}`)
    t.equal(error.request, failed?.id, text)
    if (last.body !== undefined) t.equal(error.code, (last.body as { readonly code: string }).code, text)
    return true
  }
  t.equal(status, 200, `${text}\n${JSON.stringify(body)}`)
  const { responses = [] } = body as { readonly responses?: readonly Answer[] }
  t.strictSame(
    responses.map((part) => ({ status: part.status, headers: shown(part.headers), body: part.body })),
    answers.map((part) => ({ ...part, headers: shown(part.headers) })),
    text,
  )
  return false
}

t.test('batches and sequences of requests', async (t) => {
  const random = seededRandom(testSeed(18_1))
  const client = new PipelineClient(sequential.uri)
  await client.connect()
  t.teardown(() => client.end())
  const sequence = new Sequence(client, sequential)
  const ends = { failed: 0, succeeded: 0, hungUp: 0 }
  let round = 0
  const level = async (): Promise<void> => {
    round += 1000
    await levelSequences(batched.database, round)
    await levelSequences(sequential.database, round)
  }
  const hangUp = async (parts: readonly GeneratedPart[]): Promise<void> => {
    const before = await stateOf(batched.database)
    const failing: GeneratedPart = { id: 'end', method: 'GET', url: '/unheard_of', headers: {}, isJson: true }
    const signal = AbortSignal.timeout(random.below(8))
    const body = requestsOf([...parts, failing])
    await fetch(`${batched.url}/rest/v1/$batch`, { method: 'POST', body, signal }).catch(() => undefined)
    t.strictSame(await stateOf(batched.database), before, 'nothing is left of a batch without its client')
    ends.hungUp++
    await level()
  }
  for (let batch = 0; batch < 20 && t.passing(); batch++) {
    let parts = generatedBatch(random)
    if (random.chance(0.15)) await hangUp(parts)
    for (let hasFailed = true; hasFailed && parts.length > 0 && t.passing();) {
      const answers = await sequence.run(parts)
      const answer = await batched.call('POST', '/rest/v1/$batch', { body: requestsOf(parts) })
      hasFailed = compare(t, parts, answer.body, answer.status, answers)
      if (hasFailed) ends.failed++
      else ends.succeeded++
      t.strictSame(await stateOf(batched.database), await stateOf(sequential.database), 'the same end')
      await level()
      // The next batch leaves out the request that has failed, and those that refer to it.
      const { id = '' } = parts[answers.length - 1] ?? {}
      parts = parts.filter((part) => part.id !== id && !`${part.url}${part.body ?? ''}`.includes(`${id}#/`))
    }
  }
  t.ok(ends.failed > 10 && ends.succeeded > 10 && ends.hungUp > 0, JSON.stringify(ends))
})
