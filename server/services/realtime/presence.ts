// Who is present in a topic: entries of the channels of this process and of others.
import { randomBytes } from 'node:crypto'

/** What a channel tracks. */
export type PresenceEntry = {
  readonly key: string
  /** Names this version of the entry. */
  readonly ref: string
  /** Of the version before. */
  readonly previousRef: string | undefined
  /** Members of the JSON object that the client tracks, without its braces. */
  readonly members: string
}

const processName = randomBytes(6).toString('base64url')
let count = 0

/** A name that no other process has. */
const nextRef = (): string => `F${processName}${(count++).toString(36)}`

/** @param payload JSON object of the client */
export function presenceEntry(key: string, payload: string, before: PresenceEntry | undefined): PresenceEntry {
  return { key, ref: nextRef(), previousRef: before?.ref, members: payload.slice(1, -1) }
}

function metaOf({ ref, previousRef, members }: PresenceEntry): string {
  const previous = previousRef === undefined ? '' : `,"phx_ref_prev":${JSON.stringify(previousRef)}`
  // The names of the server come last, because the last of equal names counts.
  return `{${members}${members.trim() === '' ? '' : ','}"phx_ref":${JSON.stringify(ref)}${previous}}`
}

/** Bytes of an entry that its client has chosen. */
export const bytesOf = ({ key, members }: Pick<PresenceEntry, 'key' | 'members'>): number =>
  Buffer.byteLength(key) + Buffer.byteLength(members)

/** `{"key":{"metas":[…]}}` */
function groupedJson(entries: Iterable<PresenceEntry>): string {
  const groups = new Map<string, string[]>()
  for (const entry of entries) {
    const metas = groups.get(entry.key)
    if (metas) metas.push(metaOf(entry))
    else groups.set(entry.key, [metaOf(entry)])
  }
  return `{${Array.from(groups, ([key, metas]) => `${JSON.stringify(key)}:{"metas":[${metas.join(',')}]}`).join(',')}}`
}

/** The entries of a topic by their owners, which are channels of this process and of others, and their changes since the last diff. */
export class PresenceList {
  readonly #entries = new Map<object, PresenceEntry>()
  readonly #joins = new Map<string, PresenceEntry>()
  readonly #leaves = new Map<string, PresenceEntry>()
  #bytes = 0

  get size(): number {
    return this.#entries.size
  }

  entryOf(owner: object): PresenceEntry | undefined {
    return this.#entries.get(owner)
  }

  /** Bytes of all entries, if that of an owner is replaced. */
  bytesWith(owner: object, entry: Pick<PresenceEntry, 'key' | 'members'>): number {
    const before = this.#entries.get(owner)
    return this.#bytes - (before ? bytesOf(before) : 0) + bytesOf(entry)
  }

  /** Sets the entry of an owner. */
  set(owner: object, entry: PresenceEntry): void {
    const before = this.#entries.get(owner)
    if (before?.ref === entry.ref) return
    this.#bytes = this.bytesWith(owner, entry)
    if (before) this.#leave(before)
    this.#entries.set(owner, entry)
    this.#joins.set(entry.ref, entry)
  }

  /** @returns whether the owner had an entry */
  delete(owner: object): boolean {
    const before = this.#entries.get(owner)
    if (!before) return false
    this.#entries.delete(owner)
    this.#bytes -= bytesOf(before)
    this.#leave(before)
    return true
  }

  /** The payload of `presence_state`. */
  stateJson(): string {
    return groupedJson(this.#entries.values())
  }

  /** The payload of `presence_diff`: all changes since the last one; undefined if there are none. */
  takeDiff(): string | undefined {
    if (this.#joins.size === 0 && this.#leaves.size === 0) return undefined
    const diff = `{"joins":${groupedJson(this.#joins.values())},"leaves":${groupedJson(this.#leaves.values())}}`
    this.#joins.clear()
    this.#leaves.clear()
    return diff
  }

  /** An entry that has come since the last diff leaves no trace. */
  #leave(entry: PresenceEntry): void {
    if (!this.#joins.delete(entry.ref)) this.#leaves.set(entry.ref, entry)
  }
}
