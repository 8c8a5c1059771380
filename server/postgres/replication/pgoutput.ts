// Reads the messages of the plugin pgoutput, version 1 of its protocol.
// https://www.postgresql.org/docs/current/protocol-logicalrep-message-formats.html
import type { LogChange, LogColumn, LogRelation, LogTuple, LogValue, ReplicaIdentity } from './log-transaction.ts'
import { postgresEpoch } from './replication-stream.ts'

export type LogMessage =
  | { readonly kind: 'begin'; readonly xid: number; readonly commit: bigint }
  | { readonly kind: 'change'; readonly change: LogChange }
  | { readonly kind: 'commit'; readonly commit: bigint; readonly end: bigint; readonly time: bigint }
  /** Describes something, or is about something that is not reported. */
  | { readonly kind: 'other' }

/** A message that no server of a known version sends. */
export class MalformedLog extends Error {
  override readonly name = 'MalformedLog'
}

const other: LogMessage = { kind: 'other' }

const replicaIdentities: Readonly<Record<string, ReplicaIdentity>> = {
  d: 'default',
  n: 'nothing',
  f: 'full',
  i: 'index',
}

/** Decodes the messages of one connection, which must be complete and in their order. */
export class LogDecoder {
  readonly #relations = new Map<number, LogRelation>()

  /**
   * @param message is kept by the values of its rows
   * @throws MalformedLog
   */
  decode(message: Buffer): LogMessage {
    const reader = new Reader(message)
    const decoded = this.#decode(reader)
    if (!reader.isAtEnd) throw new MalformedLog(`a message of the log is longer than it should be`)
    return decoded
  }

  #decode(reader: Reader): LogMessage {
    const type = reader.letter()
    switch (type) {
      case 'B': {
        const commit = reader.position()
        // The time is that of the commit.
        reader.skip(8)
        return { kind: 'begin', commit, xid: reader.unsigned() }
      }
      case 'C': {
        reader.skip(1)
        return { kind: 'commit', commit: reader.position(), end: reader.position(), time: reader.time() }
      }
      case 'R': {
        const relation = readRelation(reader)
        this.#relations.set(relation.oid, relation)
        return other
      }
      case 'I': {
        const relation = this.#relation(reader)
        return { kind: 'change', change: { kind: 'insert', relation, row: reader.tuple('N', relation) } }
      }
      case 'U': {
        const relation = this.#relation(reader)
        const old = reader.peek() === 'N' ? undefined : reader.tuple('KO', relation)
        return { kind: 'change', change: { kind: 'update', relation, old, row: reader.tuple('N', relation) } }
      }
      case 'D': {
        const relation = this.#relation(reader)
        return { kind: 'change', change: { kind: 'delete', relation, old: reader.tuple('KO', relation) } }
      }
      case 'T': {
        const count = reader.unsigned()
        reader.skip(1 + 4 * count)
        return other
      }
      case 'Y': {
        reader.skip(4)
        reader.text()
        reader.text()
        return other
      }
      case 'O': {
        reader.skip(8)
        reader.text()
        return other
      }
      case 'M': {
        reader.skip(9)
        reader.text()
        reader.skip(reader.unsigned())
        return other
      }
      default:
        throw new MalformedLog(`the log has a message of an unknown type: ${JSON.stringify(type)}`)
    }
  }

  #relation(reader: Reader): LogRelation {
    const oid = reader.unsigned()
    const relation = this.#relations.get(oid)
    if (!relation) throw new MalformedLog(`the log has a change of a table that it has not described: ${oid}`)
    return relation
  }
}

function readRelation(reader: Reader): LogRelation {
  const oid = reader.unsigned()
  // Empty for pg_catalog.
  const schema = reader.text() || 'pg_catalog'
  const name = reader.text()
  const letter = reader.letter()
  const replicaIdentity = replicaIdentities[letter]
  if (!replicaIdentity) throw new MalformedLog(`the log has an unknown replica identity: ${JSON.stringify(letter)}`)
  const count = reader.count()
  const columns: LogColumn[] = []
  for (let index = 0; index < count; index++) {
    const isKey = (reader.byte() & 1) === 1
    const column = reader.text()
    const type = reader.unsigned()
    // The modifier of the type.
    reader.skip(4)
    columns.push({ name: column, type, isKey })
  }
  return { oid, schema, name, replicaIdentity, columns }
}

/** Reads one message from its beginning to its end. */
class Reader {
  readonly #bytes: Buffer
  #at = 0

  constructor(bytes: Buffer) {
    this.#bytes = bytes
  }

  get isAtEnd(): boolean {
    return this.#at === this.#bytes.length
  }

  /** Moves on. Returns where it was. */
  skip(count: number): number {
    const at = this.#at
    if (count > this.#bytes.length - at) throw new MalformedLog('a message of the log is shorter than it should be')
    this.#at = at + count
    return at
  }

  byte(): number {
    return this.#bytes.readUInt8(this.skip(1))
  }

  letter(): string {
    return String.fromCharCode(this.byte())
  }

  /** The next letter, which is read again. */
  peek(): string {
    const letter = this.letter()
    this.#at--
    return letter
  }

  count(): number {
    return this.#bytes.readUInt16BE(this.skip(2))
  }

  unsigned(): number {
    return this.#bytes.readUInt32BE(this.skip(4))
  }

  position(): bigint {
    return this.#bytes.readBigUInt64BE(this.skip(8))
  }

  /** Microseconds since 1970. */
  time(): bigint {
    return this.#bytes.readBigInt64BE(this.skip(8)) + postgresEpoch
  }

  /** Text up to a zero byte. */
  text(): string {
    const end = this.#bytes.indexOf(0, this.#at)
    if (end === -1) throw new MalformedLog('a message of the log is shorter than it should be')
    const text = this.#bytes.toString('utf8', this.#at, end)
    this.#at = end + 1
    return text
  }

  /** @param letters that may announce the row */
  tuple(letters: string, { columns }: LogRelation): LogTuple {
    const letter = this.letter()
    if (!letters.includes(letter))
      throw new MalformedLog(`the log has an unknown kind of row: ${JSON.stringify(letter)}`)
    const count = this.count()
    if (count !== columns.length) {
      throw new MalformedLog(`the log has a row of ${count} columns in a table of ${columns.length}`)
    }
    const values: LogValue[] = []
    for (let index = 0; index < count; index++) values.push(this.#value())
    return values
  }

  #value(): LogValue {
    const letter = this.letter()
    switch (letter) {
      case 'n':
        return null
      case 'u':
        return undefined
      case 't': {
        const length = this.unsigned()
        const at = this.skip(length)
        return this.#bytes.subarray(at, at + length)
      }
      default:
        throw new MalformedLog(`the log has an unknown kind of value: ${JSON.stringify(letter)}`)
    }
  }
}
