// Clients of all services, who record every request that fails and every write that is acknowledged.
import { randomUUID } from 'node:crypto'
import { Agent, request as startRequest, type IncomingHttpHeaders } from 'node:http'
import { setTimeout as pause } from 'node:timers/promises'

export type Reply = { readonly status: number; readonly headers: IncomingHttpHeaders; readonly body: string }
type Given = { readonly headers?: Readonly<Record<string, string>>; readonly body?: string }
type Send = (method: string, path: string, given?: Given) => Promise<Reply>

/** A client with one connection that stays open. Errors of the connection are rejections. */
function connect(url: string): { readonly send: Send; readonly close: () => void } {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  const { hostname, port } = new URL(url)
  const send: Send = (method, path, { headers = {}, body } = {}) =>
    new Promise((resolve, reject) => {
      const length = body === undefined ? {} : { 'Content-Length': String(Buffer.byteLength(body)) }
      const json = body === undefined || 'Content-Type' in headers ? {} : { 'Content-Type': 'application/json' }
      const sent = startRequest({ hostname, port, method, path, headers: { ...json, ...headers, ...length }, agent })
      sent.setTimeout(60_000, () => sent.destroy(new Error('no response within a minute')))
      sent.once('error', reject)
      sent.once('response', (response) => {
        let text = ''
        response.setEncoding('utf8').on('data', (chunk: string) => (text += chunk))
        response.once('error', reject)
        response.once('end', () => resolve({ status: response.statusCode ?? 0, headers: response.headers, body: text }))
      })
      sent.end(body)
    })
  return { send, close: () => agent.destroy() }
}

/** SQL of the tables that the clients use. Clients without credentials are `anon`. */
export const mixedLoadSql = `
  create table public.films (id int primary key, title text not null, seen int not null default 0);
  insert into public.films (id, title) select n, 'film ' || n from generate_series(1, 1000) n;
  create table public.ledger (id bigint not null, kind text not null);
  grant select, update on public.films to anon, authenticated;
  grant select, insert on public.ledger to anon, authenticated;
  insert into storage.buckets (id, name) values ('files', 'files');
  create policy everything on storage.objects to authenticated using (true) with check (true);`

const password = 'correct horse battery'
const keyset = { Prefer: 'pagination=keyset' }
const firstPage = '/rest/v1/films?select=id&order=id&limit=2'

const hasIds = ({ status, body }: Reply, ...ids: readonly number[]): boolean =>
  status === 200 && JSON.stringify(JSON.parse(body)) === JSON.stringify(ids.map((id) => ({ id })))

/** What a client has after it has signed in. */
type Session = { readonly token: string; readonly refresh: string; readonly cookie: string }

export type MixedLoadOptions = {
  readonly url: string
  readonly clients: number
  /** Whether all services are used, or only `/rest/v1`. */
  readonly allServices: boolean
  /** An API key of `service_role`. */
  readonly key?: string
}

/** Sends requests until it is stopped: in each turn of a client a few of one kind. */
export class MixedLoad {
  /** Number of requests with the expected response. */
  answered = 0
  /** The others: kind and response. */
  readonly failures: string[] = []
  /** Requests with an `Idempotency-Key` that were sent again. */
  repeated = 0
  /** Whether a request with an `Idempotency-Key` that fails is sent again, as its client should. */
  repeatsKeyed = false
  readonly #options: MixedLoadOptions
  readonly #acknowledged = new Set<number>()
  #running: Promise<unknown> = Promise.resolve()
  #nextId = 0
  #isStopped = false
  /** Whether the version that serves at the start has cursors: others could not read those of a later one. */
  #hasPages = false

  constructor(options: MixedLoadOptions) {
    this.#options = options
  }

  /** Signs the clients in, and starts them. */
  async start(): Promise<void> {
    const { url, clients, allServices } = this.#options
    const probe = connect(url)
    const { headers } = await probe.send('GET', firstPage, { headers: keyset })
    probe.close()
    this.#hasPages = headers.link !== undefined
    const accounts = []
    for (let index = 0; index < clients; index++) {
      const connection = connect(url)
      accounts.push({ ...connection, session: allServices ? await this.#signUp(connection.send, index) : undefined })
    }
    this.#running = Promise.all(
      accounts.map(async ({ send, close, session }, index) => {
        await this.#work(send, session, index)
        close()
      }),
    )
  }

  /** Resolves when every request is answered. */
  async stop(): Promise<void> {
    this.#isStopped = true
    await this.#running
  }

  /**
   * Compares the rows of the ledger with the acknowledged ones.
   *
   * @param query runs SQL as the owner
   */
  async verify(query: (text: string) => Promise<Record<string, unknown>[]>): Promise<{
    readonly acknowledged: number
    readonly lost: number
    readonly doubled: number
  }> {
    const rows = await query('select id::int as id, count(*)::int as times from public.ledger group by id')
    const times = new Map(rows.map((row) => [Number(row.id), Number(row.times)]))
    return {
      acknowledged: this.#acknowledged.size,
      lost: [...this.#acknowledged].filter((id) => !times.has(id)).length,
      doubled: [...times.values()].filter((number) => number > 1).length,
    }
  }

  async #signUp(send: Send, index: number): Promise<Session> {
    const body = JSON.stringify({ email: `client-${index}-${randomUUID()}@example.org`, password })
    const signedUp = await send('POST', '/auth/v1/signup', { body })
    if (signedUp.status !== 200) throw new Error(`sign-up: ${signedUp.status} ${signedUp.body}`)
    const tokens = JSON.parse(signedUp.body) as { access_token: string; refresh_token: string }
    const headers = { Authorization: `Bearer ${tokens.access_token}` }
    const cookies = await send('POST', '/auth/session', { headers })
    const cookie = (cookies.headers['set-cookie'] ?? []).map((text) => text.split(';')[0]).join('; ')
    if (cookie === '') throw new Error(`no cookie: ${cookies.status} ${cookies.body}`)
    return { token: tokens.access_token, refresh: tokens.refresh_token, cookie }
  }

  async #work(send: Send, session: Session | undefined, client: number): Promise<void> {
    let current = session
    // Clients do not all do the same at the same time.
    for (let turn = client * 7; !this.#isStopped; turn++) {
      const kind = turn % 20
      if (kind < 9) await this.#read(send)
      else if (kind < 12) await this.#insert(send)
      else if (kind < 15) await this.#insertWithKey(send)
      else if (kind < 16) await this.#update(send)
      else if (kind < 17 && this.#hasPages) await this.#pages(send)
      else if (current) current = await this.#useServices(send, current, turn)
      else await this.#read(send)
    }
  }

  /** Sends a request, and records whether its response is as expected. */
  async #expect(kind: string, sent: Promise<Reply>, isRight: (reply: Reply) => boolean): Promise<Reply | undefined> {
    try {
      const reply = await sent
      if (isRight(reply)) {
        this.answered++
        return reply
      }
      this.failures.push(`${kind}: ${reply.status} ${reply.body.slice(0, 200)}`)
    } catch (error) {
      this.failures.push(`${kind}: ${error instanceof Error ? error.message : String(error)}`)
    }
    // A client that fails at once must not take the time of the others.
    await pause(20)
    return undefined
  }

  async #read(send: Send): Promise<void> {
    const id = 1 + (++this.#nextId % 1000)
    const expected = `[{"id":${id},"title":"film ${id}"}]`
    const { key } = this.#options
    const headers: Record<string, string> = key !== undefined && id % 4 === 0 ? { apikey: key } : {}
    await this.#expect(
      'read',
      send('GET', `/rest/v1/films?select=id,title&id=eq.${id}`, { headers }),
      ({ status, body }) => status === 200 && body === expected,
    )
  }

  async #insert(send: Send): Promise<void> {
    const id = ++this.#nextId
    const body = JSON.stringify({ id, kind: 'plain' })
    const reply = await this.#expect(
      'insert',
      send('POST', '/rest/v1/ledger', { body }),
      ({ status }) => status === 201,
    )
    if (reply) this.#acknowledged.add(id)
  }

  async #insertWithKey(send: Send): Promise<void> {
    const id = ++this.#nextId
    const body = JSON.stringify({ id, kind: 'keyed' })
    const headers = { 'Idempotency-Key': `"${randomUUID()}"` }
    const insert = (): Promise<Reply> => send('POST', '/rest/v1/ledger', { headers, body })
    const again = async (attempt: number): Promise<Reply> => {
      const reply = await insert().catch((error: unknown) => {
        if (!this.repeatsKeyed || attempt > 100) throw error
        return undefined
      })
      if (reply && (!this.repeatsKeyed || reply.status < 400 || attempt > 100)) return reply
      this.repeated++
      await pause(50)
      return again(attempt + 1)
    }
    const reply = await this.#expect('insert with a key', again(1), ({ status }) => status === 201)
    if (reply) this.#acknowledged.add(id)
  }

  async #update(send: Send): Promise<void> {
    const id = ++this.#nextId
    const body = JSON.stringify({ seen: id })
    const path = `/rest/v1/films?id=eq.${1 + (id % 1000)}`
    await this.#expect('update', send('PATCH', path, { body }), ({ status }) => status === 204)
  }

  /** Two pages, whose cursor may be of another process and version. */
  async #pages(send: Send): Promise<void> {
    const sent = send('GET', firstPage, { headers: keyset })
    const first = await this.#expect('page', sent, (reply) => hasIds(reply, 1, 2))
    const [, next] = /<([^>]*)>; rel="next"/.exec(String(first?.headers.link)) ?? []
    if (next === undefined) return
    const second = send('GET', `/rest/v1/films${next}`, { headers: keyset })
    await this.#expect('next page', second, (reply) => hasIds(reply, 3, 4))
  }

  async #useServices(send: Send, session: Session, turn: number): Promise<Session> {
    const bearer = { Authorization: `Bearer ${session.token}` }
    const cookie = { Cookie: session.cookie }
    switch (turn % 3) {
      case 0:
        return this.#refresh(send, session)
      case 1:
        await this.#expect('account', send('GET', '/auth/me', { headers: cookie }), ({ status }) => status === 200)
        await this.#expect('user', send('GET', '/auth/v1/user', { headers: bearer }), ({ status }) => status === 200)
        await this.#report(send, cookie)
        return session
      default:
        await (turn % 2 === 0 ? this.#upload(send, bearer) : this.#uploadInPieces(send, bearer))
        return session
    }
  }

  async #refresh(send: Send, session: Session): Promise<Session> {
    const body = JSON.stringify({ refresh_token: session.refresh })
    const path = '/auth/v1/token?grant_type=refresh_token'
    const reply = await this.#expect('refresh', send('POST', path, { body }), ({ status }) => status === 200)
    if (!reply) return session
    const { access_token: token, refresh_token: refresh } = JSON.parse(reply.body) as {
      access_token: string
      refresh_token: string
    }
    const headers = { Authorization: `Bearer ${token}` }
    const isAccepted = ({ status }: Reply): boolean => status === 200
    await this.#expect('read with a new token', send('GET', '/rest/v1/films?limit=1', { headers }), isAccepted)
    return { ...session, token, refresh }
  }

  async #report(send: Send, cookie: Readonly<Record<string, string>>): Promise<void> {
    const vehicle = { manufacturer: 'Alfa Romeo', model: 'Giulia', year: 2018, mileage: 60_000, price: 20_000 }
    const body = JSON.stringify({ ...vehicle, lat: 48.1, lng: 11.6 })
    const created = send('POST', '/report', { headers: cookie, body })
    await this.#expect('report', created, ({ status }) => status === 201)
    await this.#expect('reports', send('GET', '/report?limit=1', { headers: cookie }), ({ status }) => status === 200)
  }

  async #upload(send: Send, bearer: Readonly<Record<string, string>>): Promise<void> {
    const path = `/storage/v1/object/files/${randomUUID()}.txt`
    const body = `text ${path}`
    const headers = { ...bearer, 'Content-Type': 'text/plain' }
    const stored = await this.#expect('upload', send('POST', path, { headers, body }), ({ status }) => status === 200)
    if (!stored) return
    const isRight = (reply: Reply): boolean => reply.status === 200 && reply.body === body
    await this.#expect('download', send('GET', path, { headers: bearer }), isRight)
  }

  async #uploadInPieces(send: Send, bearer: Readonly<Record<string, string>>): Promise<void> {
    const name = `${randomUUID()}.txt`
    const headers = { ...bearer, 'Tus-Resumable': '1.0.0' }
    const encoded = (text: string): string => Buffer.from(text).toString('base64')
    const metadata = `bucketName ${encoded('files')},objectName ${encoded(name)},contentType ${encoded('text/plain')}`
    const created = await this.#expect(
      'resumable upload',
      send('POST', '/storage/v1/upload/resumable', {
        headers: { ...headers, 'Upload-Length': '10', 'Upload-Metadata': metadata },
      }),
      ({ status }) => status === 201,
    )
    if (!created) return
    const { pathname } = new URL(created.headers.location ?? '', 'http://localhost')
    for (const [offset, body] of [
      [0, 'first'],
      [5, 'later'],
    ] as const) {
      const piece = { ...headers, 'Upload-Offset': String(offset), 'Content-Type': 'application/offset+octet-stream' }
      const sent = send('PATCH', pathname, { headers: piece, body })
      if (!(await this.#expect('piece', sent, ({ status }) => status === 204))) return
    }
    await this.#expect(
      'download of pieces',
      send('GET', `/storage/v1/object/files/${name}`, { headers: bearer }),
      ({ status, body }) => status === 200 && body === 'firstlater',
    )
  }
}
