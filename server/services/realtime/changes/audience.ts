// Who listens to which tables. Subscribers that see the same of a table are one audience, so that an event is decided once for all
// of them.
import { claimsText, type Identity } from '../../../identity/identity.ts'
import type { SettingsStatement } from '../../../rest/database.ts'
import type { CallerSettings } from '../policies/row-check.ts'
import type { Binding } from './filter-text.ts'
import type { ChangeReceiver } from './row-changes.ts'
import type { Start } from './start.ts'

/** Milliseconds between two checks of a session. Its end is announced; this is for announcements that were missed. */
const sessionInterval = 5000

/** A role with claims, for which policies are evaluated. Subscribers with the same ones share it. */
export class Viewer {
  readonly key: string
  readonly identity: Identity
  /** Subscribers that have it. */
  users = 0
  readonly #settings: CallerSettings
  #checkedAt = -Infinity

  constructor(identity: Identity, settings: CallerSettings) {
    const text = claimsText(identity)
    this.identity = { role: identity.role, claims: identity.claims, claimsText: text }
    this.key = viewerKey(identity.role, text)
    this.#settings = settings
  }

  get role(): string {
    return this.identity.role
  }

  /** For a transaction under its role and claims. */
  get settings(): SettingsStatement {
    const now = performance.now()
    const isChecked = now - this.#checkedAt < sessionInterval
    if (!isChecked) this.#checkedAt = now
    return this.#settings.of(this.identity, [], !isChecked)
  }
}

export const viewerKey = (role: string, claims: string): string => `${role}\0${claims}`

export class Subscriber {
  readonly bindings: readonly Binding[]
  readonly receiver: ChangeReceiver
  viewer: Viewer
  /** Number of the first transaction that it gets with all others; infinite while it catches up. */
  liveFrom = Infinity
  /** Where it begins. */
  start: Start | undefined
  /** Whether it does not get the transaction that is handed out. */
  isLeftOut = false
  isEnded = false
  /** What the publication lacks of that which it listens to, as its client was informed; undefined: nothing. */
  lack: string | undefined
  /** What is being evaluated for it alone. */
  batch: Promise<void> | undefined

  constructor(bindings: readonly Binding[], receiver: ChangeReceiver, viewer: Viewer) {
    this.bindings = bindings
    this.receiver = receiver
    this.viewer = viewer
  }
}

export type AudienceBinding = { readonly index: number; readonly binding: Binding }

export type Audience = {
  readonly viewer: Viewer
  /** The bindings of its subscribers that name the table. */
  readonly bindings: readonly AudienceBinding[]
  readonly subscribers: Set<Subscriber>
}

/** Whether a binding is for a table. */
export const isNamed = (
  { schema, table }: Binding,
  relation: { readonly schema: string; readonly name: string },
): boolean => (schema === '*' || schema === relation.schema) && (table === '*' || table === relation.name)

/** The bindings of a subscriber that name a table. */
const bindingsFor = (
  { bindings }: Subscriber,
  relation: { readonly schema: string; readonly name: string },
): AudienceBinding[] => bindings.flatMap((binding, index) => (isNamed(binding, relation) ? [{ index, binding }] : []))

/** The audience of one subscriber, if it listens to the table. */
export function audienceOf(
  subscriber: Subscriber,
  relation: { readonly schema: string; readonly name: string },
): Audience | undefined {
  const bindings = bindingsFor(subscriber, relation)
  return bindings.length === 0 ? undefined : { viewer: subscriber.viewer, bindings, subscribers: new Set([subscriber]) }
}

type TableAudiences = {
  readonly relation: { readonly schema: string; readonly name: string }
  readonly audiences: Map<string, Audience>
}

/** All subscribers, and their audiences by table. */
export class Audiences {
  readonly #subscribers = new Set<Subscriber>()
  readonly #tables = new Map<string, TableAudiences>()

  get subscribers(): ReadonlySet<Subscriber> {
    return this.#subscribers
  }

  add(subscriber: Subscriber): void {
    this.#subscribers.add(subscriber)
    for (const table of this.#tables.values()) join(table, subscriber)
  }

  delete(subscriber: Subscriber): void {
    this.#subscribers.delete(subscriber)
    for (const { relation, audiences } of this.#tables.values()) {
      const key = keyOf(subscriber, bindingsFor(subscriber, relation))
      const audience = audiences.get(key)
      audience?.subscribers.delete(subscriber)
      if (audience?.subscribers.size === 0) audiences.delete(key)
    }
  }

  /** The audiences of a table. */
  of(relation: { readonly schema: string; readonly name: string }): Iterable<Audience> {
    const key = `${relation.schema}\0${relation.name}`
    let table = this.#tables.get(key)
    if (!table) {
      if (this.#tables.size >= mostTables) this.#tables.clear()
      table = { relation: { schema: relation.schema, name: relation.name }, audiences: new Map() }
      this.#tables.set(key, table)
      for (const subscriber of this.#subscribers) join(table, subscriber)
    }
    return table.audiences.values()
  }
}

/** Tables whose audiences are kept. */
const mostTables = 2000

function join({ relation, audiences }: TableAudiences, subscriber: Subscriber): void {
  const bindings = bindingsFor(subscriber, relation)
  if (bindings.length === 0) return
  const key = keyOf(subscriber, bindings)
  const audience = audiences.get(key)
  if (audience) audience.subscribers.add(subscriber)
  else audiences.set(key, { viewer: subscriber.viewer, bindings, subscribers: new Set([subscriber]) })
}

const keyOf = ({ viewer }: Subscriber, bindings: readonly AudienceBinding[]): string =>
  `${viewer.key}\0${JSON.stringify(bindings)}`
