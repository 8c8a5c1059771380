// People who listen to their own rows while these are written, and lose their connections: what each must get, and what it got.
import { setTimeout as pause } from 'node:timers/promises'
import { WebSocket } from 'ws'
import { resumingTransport } from '../../server/client/resuming.ts'
import type { TestDatabase } from './database.ts'
import { hourToken } from './realtime.ts'
import type { Random } from './seeded-random.ts'
import { until } from './until.ts'

export const isolationSql = `
  create table public.own (id int primary key, owner uuid not null, n int not null, note text);
  alter table public.own alter column note set storage external;
  alter table public.own enable row level security;
  create policy own on public.own for select to authenticated using (owner = (select auth.uid()));
  grant select on public.own to authenticated;
  alter table public.own replica identity full;
  alter publication supabase_realtime add table public.own;`

/** A change that was committed. */
type Change = {
  /** Its kind and the number of the version that it wrote, or deleted. */
  readonly key: string
  readonly id: number
  /** Number of the person who may see it. */
  readonly owner: number
  /** Milliseconds: when its transaction was sent. */
  readonly sentAt: number
}

type Received = { readonly key: string; readonly id: number; readonly n: number; readonly at: number }

/** Changes that a person may have missed, because the server said so. */
type Gap = {
  /** Events that it had received before. */
  readonly after: number
  /** Milliseconds: when the next subscription was live. */
  until: number
  /** Milliseconds: since when the server has read the log. */
  readonly since: number
  readonly message: string
}

/** A server that people connect to. */
export type Place = { url: string; /** Milliseconds: since when it has read the log. */ since: number }

const uuidOf = (person: number): string => `00000000-0000-4000-8000-${String(person).padStart(12, '0')}`
const anyUuid = /00000000-0000-4000-8000-(\d{12})/g

type Data = {
  readonly type: string
  readonly position: string
  readonly errors: unknown
  readonly record?: { readonly id: number; readonly n: number }
  readonly old_record?: { readonly id: number; readonly n: number }
}

/** Positions as they can be compared. */
function placeOf(position: string): bigint {
  const [, high = '0', low = '0', index = '0'] = /^(\w+)\/(\w+):(\d+)$/.exec(position) ?? []
  return (((BigInt(`0x${high}`) << 32n) | BigInt(`0x${low}`)) << 32n) | BigInt(index)
}

/** One person with a channel, which goes on where it was after a lost connection. */
class Person {
  readonly received: Received[] = []
  readonly gaps: Gap[] = []
  /** What must not happen. */
  readonly faults: string[] = []
  connections = 0
  readonly #number: number
  readonly #places: readonly Place[]
  readonly #random: Random
  readonly #Socket = resumingTransport(WebSocket)
  #socket: WebSocket | undefined
  #isOver = false
  #isLive = false
  #position = -1n

  constructor(number: number, places: readonly Place[], random: Random) {
    this.#number = number
    this.#places = places
    this.#random = random
  }

  get isLive(): boolean {
    return this.#isLive
  }

  async run(): Promise<void> {
    const token = await hourToken('authenticated', { sub: uuidOf(this.#number) })
    while (!this.#isOver) {
      const place = this.#places[this.#random.below(this.#places.length)]
      if (place && place.url !== '') await this.#connect(place, token)
      await pause(this.#random.below(400))
    }
  }

  disconnect(): void {
    this.#socket?.terminate()
  }

  end(): void {
    this.#isOver = true
    this.disconnect()
  }

  #connect(place: Place, token: string): Promise<void> {
    const address = `${place.url.replace('http', 'ws')}/realtime/v1/websocket?vsn=2.0.0&apikey=${token}`
    const socket = new this.#Socket(address)
    this.#socket = socket
    const bindings = [{ event: '*', schema: 'public', table: 'own' }]
    socket.on('open', () => {
      this.connections++
      socket.send(JSON.stringify(['1', '1', 'realtime:own', 'phx_join', { config: { postgres_changes: bindings } }]))
    })
    socket.on('message', (data) => this.#onMessage((data as Buffer).toString(), place))
    socket.on('error', () => undefined)
    return new Promise((resolve) => {
      socket.on('close', () => {
        this.#isLive = false
        resolve()
      })
    })
  }

  #onMessage(text: string, place: Place): void {
    for (const [uuid] of text.matchAll(anyUuid)) {
      if (uuid !== uuidOf(this.#number)) this.faults.push(`a row of another person: ${text}`)
    }
    const [, , , event, payload] = JSON.parse(text) as [unknown, unknown, string, string, Record<string, unknown>]
    if (event === 'system') this.#onSystem(payload, place)
    else if (event === 'postgres_changes') this.#onChange(payload.data as Data)
    else if (event === 'phx_reply' && payload.status !== 'ok') this.faults.push(`refused: ${text}`)
    else if (event === 'phx_close') this.faults.push('the channel was closed')
  }

  #onSystem({ status, code, message }: Readonly<Record<string, unknown>>, place: Place): void {
    const last = this.gaps.at(-1)
    if (status === 'ok') {
      this.#isLive = true
      if (last?.until === Infinity) last.until = performance.now()
    } else if (code === 'Gap') {
      const end = this.#isLive ? performance.now() : Infinity
      this.gaps.push({ after: this.received.length, until: end, since: place.since, message: String(message) })
    } else this.faults.push(`${String(code)}: ${String(message)}`)
  }

  #onChange({ type, position, errors, record, old_record: old }: Data): void {
    const place = placeOf(position)
    if (place <= this.#position) this.faults.push(`${position} comes after a later position`)
    this.#position = place
    const row = type === 'DELETE' ? old : record
    if (!row || errors !== null) return void this.faults.push(`an incomplete event: ${type} at ${position}`)
    this.received.push({ key: `${type} ${row.n}`, id: row.id, n: row.n, at: performance.now() })
  }

  /** What is missing, doubled, or in another order. @param changes all that were committed */
  problems(changes: ReadonlyMap<string, Change>): string[] {
    const problems = [...this.faults]
    const keys = new Set<string>()
    const last = new Map<number, number>()
    for (const { key, id, n } of this.received) {
      if (keys.has(key)) problems.push(`${key} comes twice`)
      keys.add(key)
      const change = changes.get(key)
      if (change?.owner !== this.#number) problems.push(`${key} is not a change of this person`)
      // DELETE has the number of the version that it deletes.
      if ((last.get(id) ?? -1) > n) problems.push(`${key} comes after a later version of its row`)
      last.set(id, n)
    }
    for (const { after, since, message } of this.gaps) {
      const seen = changes.get(this.received[after - 1]?.key ?? '')
      if (seen && seen.sentAt > since) problems.push(`a gap, though the server has read the log since then: ${message}`)
    }
    for (const change of changes.values()) {
      if (change.owner !== this.#number || keys.has(change.key) || this.#isInGap(change, changes)) continue
      problems.push(`${change.key} is missing`)
    }
    return problems
  }

  #isInGap({ sentAt }: Change, changes: ReadonlyMap<string, Change>): boolean {
    return this.gaps.some(({ after, until: end }) => {
      const before = changes.get(this.received[after - 1]?.key ?? '')
      return sentAt < end && (before === undefined || sentAt >= before.sentAt)
    })
  }
}

export type IsolationFigures = {
  readonly changes: number
  readonly received: number
  readonly connections: number
  readonly gaps: number
  /** Milliseconds from the beginning of a transaction to its event: the median, and the longest. */
  readonly delays: readonly [number, number]
  readonly problems: readonly string[]
}

export type IsolationOptions = {
  readonly database: Pick<TestDatabase, 'query'>
  readonly places: readonly Place[]
  readonly random: Random
  readonly people: number
  readonly seconds: number
  /** Runs meanwhile. */
  readonly meanwhile: () => Promise<void>
}

type Row = { readonly id: number; n: number }

export async function runIsolation(options: IsolationOptions): Promise<IsolationFigures> {
  const { places, random, seconds } = options
  const people = Array.from({ length: options.people }, (_, number) => new Person(number, places, random))
  const running = people.map((person) => person.run())
  if (!(await until(() => people.every(({ isLive }) => isLive)))) throw new Error('not everyone has joined')
  const writer = new Writer(options)
  let isOver = false
  const writing = people.map(async (_, number) => {
    while (!isOver) {
      await writer.write(number)
      await pause(500 + random.below(1500))
    }
  })
  const leaving = people.map(async (person) => {
    while (!isOver) {
      await pause(500 + random.below(6000))
      if (!isOver) person.disconnect()
    }
  })
  await Promise.all([pause(seconds * 1000), options.meanwhile()])
  isOver = true
  await Promise.all([...writing, ...leaving])
  const problems = (): string[] =>
    people.flatMap((person, number) => person.problems(writer.changes).map((problem) => `person ${number}: ${problem}`))
  const end = performance.now() + 20_000
  await until(() => problems().length === 0 || performance.now() > end)
  // What comes now would come twice.
  await pause(500)
  for (const person of people) person.end()
  await Promise.all(running)
  const sum = (of: (person: Person) => number): number => people.reduce((all, person) => all + of(person), 0)
  return {
    changes: writer.changes.size,
    received: sum(({ received }) => received.length),
    connections: sum(({ connections }) => connections),
    gaps: sum(({ gaps }) => gaps.length),
    delays: delaysOf(people, writer.changes),
    problems: problems(),
  }
}

function delaysOf(people: readonly Person[], changes: ReadonlyMap<string, Change>): readonly [number, number] {
  const delays = people
    .flatMap(({ received }) => received.map(({ key, at }) => at - (changes.get(key)?.sentAt ?? at)))
    .sort((one, other) => one - other)
  const at = (share: number): number => Math.round(delays[Math.floor(share * (delays.length - 1))] ?? 0)
  return [at(0.5), at(1)]
}

/** Writes the rows of all. */
class Writer {
  readonly changes = new Map<string, Change>()
  readonly #database: Pick<TestDatabase, 'query'>
  readonly #random: Random
  readonly #rows: Row[][]
  #ids = 0
  #versions = 0

  constructor({ database, random, people }: IsolationOptions) {
    this.#database = database
    this.#random = random
    this.#rows = Array.from({ length: people }, () => [])
  }

  /** A transaction with rows of one person, of which some are given to others. */
  async write(person: number): Promise<void> {
    const sentAt = performance.now()
    const changes: Change[] = []
    const statements: string[] = []
    const mine = this.#rows[person] ?? []
    const given: { readonly to: number; readonly row: Row }[] = []
    const add = (kind: string, n: number, id: number, owner: number): void => {
      changes.push({ key: `${kind} ${n}`, id, owner, sentAt })
    }
    for (let count = this.#random.integer(1, 3); count > 0; count--) {
      const n = ++this.#versions
      const row = this.#random.chance(0.5) ? mine.splice(this.#random.below(mine.length), 1)[0] : undefined
      const to = this.#random.chance(0.2) ? this.#random.below(this.#rows.length) : person
      if (!row) {
        const id = ++this.#ids
        const note = this.#random.chance(0.1) ? `repeat('x', 3000)` : `'short'`
        statements.push(`insert into own values (${id}, '${uuidOf(to)}', ${n}, ${note})`)
        given.push({ to, row: { id, n } })
        add('INSERT', n, id, to)
      } else if (this.#random.chance(0.4)) {
        statements.push(`delete from own where id = ${row.id}`)
        add('DELETE', row.n, row.id, person)
      } else {
        statements.push(`update own set n = ${n}, owner = '${uuidOf(to)}' where id = ${row.id}`)
        given.push({ to, row: { id: row.id, n } })
        add('UPDATE', n, row.id, to)
      }
    }
    const undone = ++this.#ids
    const undoing = this.#random.chance(0.1)
      ? `savepoint s; insert into own values (${undone}, '${uuidOf(person)}', 0, 'undone'); rollback to s;`
      : ''
    await this.#database.query(`begin; ${undoing} ${statements.join('; ')}; commit`)
    for (const change of changes) this.changes.set(change.key, change)
    // Others write them only now.
    for (const { to, row } of given) this.#rows[to]?.push(row)
  }
}
