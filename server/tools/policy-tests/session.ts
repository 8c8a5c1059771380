// Sends requests to the engine inside transactions that are rolled back, on one connection.
import type { Client } from '../../postgres/connection/client.ts'
import type { PoolConfig } from '../../postgres/connection/pool-config.ts'
import { OpenTransaction } from '../../postgres/open-transaction.ts'
import type { Identity } from '../../identity/identity.ts'
import { extensionsOf, partsOf } from '../../rest/extension.ts'
import { createExtensions } from '../../rest/extensions/list.ts'
import { RestHandler } from '../../rest/handler.ts'
import type { Headers } from '../../rest/response/header.ts'
import type { RestRequest } from '../../rest/rest-request.ts'
import { Snapshot, type LoadedSettings } from '../../rest/snapshot.ts'
import type { SchemaCache } from '../../catalogue/schema-cache.ts'

export type Sent = {
  readonly method: string
  /** Path below the mount path and query string. */
  readonly target: string
  /** With names in lower case. */
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string
}

export type Reply = {
  readonly status: number
  readonly header: (name: string) => string | undefined
  /** The parsed body; undefined when it is empty, a text when it is not JSON. */
  readonly body: unknown
}

/** Where responses come from: settings and schema, which all sessions of a run share. */
export type Serving = { readonly settings: LoadedSettings; readonly schemaCache: SchemaCache }

/** A request of a test. Its `source` is the identity that it has. */
class TestRequest implements RestRequest {
  readonly method: string
  readonly basePath = ''
  readonly target: string
  readonly headers: Headers
  readonly source: Identity
  readonly isOpenEnded = false
  readonly isAborted = false
  readonly isGone = false
  readonly #body: Buffer

  constructor({ method, target, headers = {}, body = '' }: Sent, identity: Identity) {
    this.method = method
    this.target = target
    // One character per byte, as in Node's HTTP parser.
    this.headers = Object.entries(headers).map(([name, value]) => [name, Buffer.from(value).toString('latin1')])
    this.source = identity
    this.#body = Buffer.from(body)
  }

  header(name: string): string | undefined {
    return this.headers.find(([found]) => found === name)?.[1]
  }

  onGone(): () => void {
    return () => undefined
  }

  readBody(): Promise<Buffer> {
    return Promise.resolve(this.#body)
  }
}

/** A connection to a database of the run. Runs one thing at a time. */
export class TestSession {
  readonly client: InstanceType<PoolConfig['Client']>
  readonly #handler: RestHandler
  #depth = 0

  constructor(client: InstanceType<PoolConfig['Client']>, { settings, schemaCache }: Serving) {
    this.client = client
    const extensions = extensionsOf(createExtensions({ settings: settings.config }))
    this.#handler = new RestHandler({
      extensions,
      state: {
        database: new OpenTransaction(client),
        snapshot: new Snapshot(settings, schemaCache, partsOf(extensions)),
        recover: () => undefined,
      },
      identify: ({ source }) => source as Identity,
      // The constraints of the database decide on bodies, not the JSON Schemas of tables.
      validator: { forTable: () => undefined },
      observe: () => undefined,
    })
  }

  /** Runs `use` in a transaction that is rolled back; within another one, in a savepoint. */
  async isolated<T>(use: () => Promise<T>): Promise<T> {
    const savepoint = this.#depth === 0 ? undefined : `isolated_${this.#depth}`
    await this.client.query(savepoint === undefined ? 'begin' : `savepoint ${savepoint}`)
    this.#depth++
    try {
      return await use()
    } finally {
      this.#depth--
      const end = savepoint === undefined ? 'rollback' : `rollback to ${savepoint}; release ${savepoint}`
      await this.client.query(end)
    }
  }

  /** Runs one statement as the owner of the database. */
  readonly query = async (text: string, values: unknown[]): Promise<Record<string, unknown>[]> =>
    (await this.client.query<Record<string, unknown>>(text, values)).rows

  /** Sends a request. Call it in `isolated`: the settings of the request remain until the end of the transaction. */
  async send(sent: Sent, identity: Identity): Promise<Reply> {
    const { status, headers, body } = await this.#handler.answer(new TestRequest(sent, identity))
    const text = typeof body === 'string' || Buffer.isBuffer(body) ? body.toString() : ''
    return {
      status,
      header: (name) => headers.find(([found]) => found.toLowerCase() === name)?.[1],
      body: parsed(text),
    }
  }
}

function parsed(text: string): unknown {
  if (text === '') return undefined
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}

/** A connection for tests. Messages of the server are in English, because some are distinguished by their text. */
export async function prepareSession(client: Client): Promise<void> {
  await client.query("set lc_messages = 'C'").catch(() => undefined)
  await client.query('set jit = off')
}
