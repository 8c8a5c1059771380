// Clients that write and read continuously, and record the responses.
import { Agent, request } from 'node:http'
import type { TestDatabase } from './database.ts'

/** SQL of the tables that the clients use. */
export const ledgerSql = (role: string): string => `
  create table public.ledger (id bigint not null);
  create table public.films (id int primary key, title text not null);
  insert into public.films select n, 'film ' || n from generate_series(1, 100) as n;
  grant select on public.films to ${role};
  grant insert on public.ledger to ${role};
`

export type LedgerLoadOptions = {
  readonly port: number
  /** Number of clients with persistent connections. */
  readonly keptAlive: number
  /** Number of clients that open a connection per request. */
  readonly fresh: number
}

export class LedgerLoad {
  /** Number of requests with the expected response. */
  answered = 0
  /** Failures of all other requests. */
  readonly lost: string[] = []
  readonly #acknowledged = new Set<number>()
  readonly #port: number
  readonly #clients: readonly Promise<void>[]
  #nextId = 0
  #isStopped = false

  constructor({ port, keptAlive, fresh }: LedgerLoadOptions) {
    this.#port = port
    this.#clients = [
      ...Array.from({ length: keptAlive }, () => this.#run(new Agent({ keepAlive: true, maxSockets: 1 }))),
      ...Array.from({ length: fresh }, () => this.#run(new Agent({ keepAlive: false }))),
    ]
  }

  /** Resolves when every request is answered. */
  async stop(): Promise<void> {
    this.#isStopped = true
    await Promise.all(this.#clients)
  }

  /** Compares the rows with the acknowledged ones: ids that are missing, and ids that are stored twice. */
  async verify(database: TestDatabase): Promise<{ readonly lostWrites: number; readonly doubledWrites: number }> {
    const { rows } = await database.query('select id::int as id, count(*)::int as times from public.ledger group by id')
    const stored = new Map(rows.map(({ id, times }) => [Number(id), Number(times)]))
    return {
      lostWrites: [...this.#acknowledged].filter((id) => !stored.has(id)).length,
      doubledWrites: [...stored.values()].filter((times) => times > 1).length,
    }
  }

  async #run(agent: Agent): Promise<void> {
    for (let turn = 0; !this.#isStopped; turn++) {
      const id = ++this.#nextId
      const film = 1 + (id % 100)
      const outcome =
        turn % 3 === 0
          ? await this.#send(agent, 'POST', '/ledger', `{"id":${id}}`, '201')
          : await this.#send(
              agent,
              'GET',
              `/films?id=eq.${film}`,
              undefined,
              `200[{"id":${film},"title":"film ${film}"}]`,
            )
      if (outcome === undefined) {
        this.answered += 1
        if (turn % 3 === 0) this.#acknowledged.add(id)
      } else this.lost.push(outcome)
    }
    agent.destroy()
  }

  /** Undefined if status and body are as expected, otherwise a description of the response. */
  #send(
    agent: Agent,
    method: string,
    path: string,
    body: string | undefined,
    expected: string,
  ): Promise<string | undefined> {
    return new Promise((resolve) => {
      const headers = {
        Prefer: 'return=minimal',
        ...(body === undefined ? {} : { 'Content-Type': 'application/json', 'Content-Length': body.length }),
      }
      const fail = (error: NodeJS.ErrnoException): void =>
        resolve(`${method}: ${error.code ?? error.message}${asked.reusedSocket ? ' on a kept connection' : ''}`)
      const target = { host: '127.0.0.1', port: this.#port, method, path, agent, headers, timeout: 20_000 }
      const asked = request(target, (response) => {
        let text = String(response.statusCode)
        response.setEncoding('utf8').on('data', (chunk: string) => (text += chunk))
        response.once('error', fail)
        response.once('end', () => resolve(text === expected ? undefined : `${method}: ${text.slice(0, 200)}`))
      })
      asked.once('timeout', () => asked.destroy(new Error('no response within 20 s')))
      asked.once('error', fail)
      asked.end(body)
    })
  }
}
