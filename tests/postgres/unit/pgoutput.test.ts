// The decoder of logical replication: every message, and bytes that no server sends.
import t from 'tap'
import { LogDecoder, MalformedLog } from '../../../server/postgres/replication/pgoutput.ts'

const bytes = (...parts: readonly (Buffer | string)[]): Buffer =>
  Buffer.concat(parts.map((part) => (typeof part === 'string' ? Buffer.from(part, 'utf8') : part)))
const int8 = (value: number): Buffer => Buffer.from([value])
const int16 = (value: number): Buffer => Buffer.from([value >> 8, value & 255])
const int32 = (value: number): Buffer => {
  const buffer = Buffer.alloc(4)
  buffer.writeUInt32BE(value)
  return buffer
}
const int64 = (value: bigint): Buffer => {
  const buffer = Buffer.alloc(8)
  buffer.writeBigUInt64BE(value)
  return buffer
}
const text = (value: string): Buffer => bytes(value, '\0')
const value = (it: string | null | undefined): Buffer =>
  it === null ? Buffer.from('n') : it === undefined ? Buffer.from('u') : bytes('t', int32(Buffer.byteLength(it)), it)
const tuple = (...values: readonly (string | null | undefined)[]): Buffer =>
  bytes(int16(values.length), ...values.map(value))
const relation = (oid: number, schema: string, identity = 'd'): Buffer =>
  bytes(
    ...['R', int32(oid), text(schema), text('Täsks'), identity, int16(2)],
    ...[int8(1), text('id'), int32(23), int32(0xffffffff)],
    ...[int8(0), text('name'), int32(25), int32(0xffffffff)],
  )

/** 2026-08-21T10:11:12.345678Z */
const time = 1_787_307_072_345_678n
const sinceEpoch = time - 946_684_800_000_000n

const described = {
  oid: 4_000_000_000,
  schema: 'public',
  name: 'Täsks',
  replicaIdentity: 'default',
  columns: [
    { name: 'id', type: 23, isKey: true },
    { name: 'name', type: 25, isKey: false },
  ],
}
const oid = int32(described.oid)
const messages: readonly (readonly [name: string, message: Buffer, expected: unknown])[] = [
  [
    'begin',
    bytes('B', int64(0x1_0000_0002n), int64(sinceEpoch), int32(0xffff_fff0)),
    { kind: 'begin', commit: 0x1_0000_0002n, xid: 0xffff_fff0 },
  ],
  [
    'commit',
    bytes('C', int8(0), int64(0x1_0000_0002n), int64(0x1_0000_0003n), int64(sinceEpoch)),
    { kind: 'commit', commit: 0x1_0000_0002n, end: 0x1_0000_0003n, time },
  ],
  ['relation', relation(described.oid, 'public'), { kind: 'other' }],
  [
    'insert',
    bytes('I', oid, 'N', tuple('1', 'grün')),
    { change: { kind: 'insert', relation: described, row: [Buffer.from('1'), Buffer.from('grün')] } },
  ],
  [
    'insert of null and of nothing',
    bytes('I', oid, 'N', tuple('', null)),
    { change: { row: [Buffer.alloc(0), null] } },
  ],
  [
    'update',
    bytes('U', oid, 'N', tuple('1', undefined)),
    { change: { kind: 'update', relation: described, old: undefined, row: [Buffer.from('1'), undefined] } },
  ],
  [
    'update of the key',
    bytes('U', oid, 'K', tuple('1', null), 'N', tuple('2', 'a')),
    { change: { kind: 'update', old: [Buffer.from('1'), null], row: [Buffer.from('2'), Buffer.from('a')] } },
  ],
  [
    'update with the whole old row',
    bytes('U', oid, 'O', tuple('1', 'b'), 'N', tuple('1', 'a')),
    { change: { old: [Buffer.from('1'), Buffer.from('b')] } },
  ],
  [
    'delete by the key',
    bytes('D', oid, 'K', tuple('1', null)),
    { kind: 'change', change: { kind: 'delete', relation: described, old: [Buffer.from('1'), null] } },
  ],
  [
    'delete of a whole row',
    bytes('D', oid, 'O', tuple('1', 'b')),
    { change: { old: [Buffer.from('1'), Buffer.from('b')] } },
  ],
  ['truncate', bytes('T', int32(2), int8(3), oid, int32(7)), { kind: 'other' }],
  ['type', bytes('Y', int32(7), text('public'), text('mood')), { kind: 'other' }],
  ['origin', bytes('O', int64(1n), text('another')), { kind: 'other' }],
  ['message', bytes('M', int8(1), int64(1n), text('prefix'), int32(3), 'abc'), { kind: 'other' }],
]

const prepared = (): LogDecoder => {
  const decoder = new LogDecoder()
  decoder.decode(relation(described.oid, 'public'))
  return decoder
}

t.test('messages', async (t) => {
  const decoder = prepared()
  for (const [name, message, expected] of messages) t.match(decoder.decode(message), expected, name)
  for (const [letter, identity] of Object.entries({ d: 'default', n: 'nothing', f: 'full', i: 'index' })) {
    decoder.decode(relation(5, '', letter))
    t.match(decoder.decode(bytes('I', int32(5), 'N', tuple('1', null))), {
      change: { relation: { oid: 5, schema: 'pg_catalog', replicaIdentity: identity } },
    })
  }
})

t.test('a table that is described again is another object', async (t) => {
  const decoder = prepared()
  const relationNow = (): unknown => {
    const message = decoder.decode(bytes('I', oid, 'N', tuple('1', null)))
    return message.kind === 'change' && message.change.relation
  }
  const before = relationNow()
  t.equal(relationNow(), before)
  decoder.decode(relation(described.oid, 'public'))
  t.not(relationNow(), before)
  t.strictSame(relationNow(), before)
})

t.test('each part of a message without its end, and each with more, is refused', async (t) => {
  for (const [name, message] of messages) {
    for (let length = 0; length < message.length; length++) {
      const part = message.subarray(0, length)
      t.throws(() => prepared().decode(part), MalformedLog, `${name}: ${length} of ${message.length}`)
    }
    t.throws(() => prepared().decode(bytes(message, 'x')), MalformedLog, `${name}, longer`)
  }
})

t.test('hostile bytes are refused', async (t) => {
  const hostile: Readonly<Record<string, Buffer>> = {
    'an unknown type': bytes('Z'),
    'a streamed transaction': bytes('S', int32(1), int8(1)),
    'a table that was not described': bytes('I', int32(9), 'N', tuple('1', 'a')),
    'an unknown replica identity': relation(1, 'public', 'x'),
    'too few columns': bytes('I', oid, 'N', tuple('1')),
    'too many columns': bytes('I', oid, 'N', tuple('1', 'a', 'b')),
    'an unknown kind of row': bytes('I', oid, 'K', tuple('1', 'a')),
    'an old row that is a new one': bytes('D', oid, 'N', tuple('1', 'a')),
    'a binary value': bytes('I', oid, 'N', int16(2), 'b', int32(1), '1', value('a')),
    'a value that is longer than the message': bytes('I', oid, 'N', int16(2), 't', int32(0xffff_ffff), '1'),
    'a name without an end': bytes('R', int32(1), 'public'),
    'a truncation of many tables': bytes('T', int32(0xffff_ffff), int8(0)),
  }
  for (const [name, message] of Object.entries(hostile)) {
    t.throws(() => prepared().decode(message), MalformedLog, name)
  }
  // Changes one byte after the other: it decodes, or is refused, and nothing else.
  for (const [name, message] of messages) {
    for (let at = 0; at < message.length; at++) {
      for (const byte of [0, 1, 0x4e, 0x7f, 0xff]) {
        const changed = Buffer.from(message)
        changed[at] = byte
        try {
          prepared().decode(changed)
        } catch (error) {
          if (!(error instanceof MalformedLog)) t.fail(`${name}: ${String(error)}`)
        }
      }
    }
  }
})
