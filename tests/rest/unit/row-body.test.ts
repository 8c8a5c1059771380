// The body of a streamed response: readers that stop reading, and the choice of its encoding.
import { mock } from 'node:test'
import { Writable } from 'node:stream'
import t from 'tap'
import type { Caller } from '../../../server/rest/database.ts'
import { chooseEncoding, encodings } from '../../../server/rest/extensions/exports/content-encoding.ts'
import { StreamedRows } from '../../../server/rest/encode/streamed-rows.ts'
import { RowBody } from '../../../server/rest/extensions/exports/row-body.ts'

const waiting: Caller = { isGone: false, onGone: () => () => undefined }
const columns = ['headers', 'status', 'iso', 'total', 'page', 'source', 'row', 'text'].map((name) => ({
  name: Buffer.from(name),
  type: 25,
}))
/** A DataRow message with these fields. */
const message = (...fields: readonly (string | null)[]): Buffer =>
  Buffer.concat([
    Buffer.of(0, fields.length),
    ...fields.flatMap((field) => {
      const length = Buffer.alloc(4)
      length.writeInt32BE(field?.length ?? -1)
      return [length, Buffer.from(field ?? '')]
    }),
  ])
const line = message(null, null, 't', null, null, null, 't', 'x'.repeat(1000))
const noTypes = { types: new Set<number>(), arrays: new Set<number>() }
/** Lets the events of streams happen, which do not wait for timers. */
const settle = async (): Promise<void> => {
  for (let turn = 0; turn < 10; turn++) await new Promise((resolve) => setImmediate(resolve))
}

/** A body with its database, and a reader that takes `takes` writes and then stops. */
function open(takes: number) {
  const state = { isPaused: false, isCancelled: false, ended: undefined as Error | undefined | null }
  const body = new RowBody('ndjson', true, waiting, (described, pass) =>
    StreamedRows.of({ format: 'ndjson', isScalar: false }, described, noTypes, pass),
  )
  const flow = { pause: () => (state.isPaused = true), resume: () => (state.isPaused = false) }
  body.columns(columns)
  body.onGone(() => (state.isCancelled = true))
  body.onEnd(({ error }) => (state.ended = error ?? null))
  let left = takes
  const reader = new Writable({
    highWaterMark: 16 * 1024,
    write: (_chunk, _encoding, done) => {
      if (left-- > 0) done()
    },
  })
  reader.on('error', () => undefined)
  body.sendTo(reader)
  const send = (rows: number): void => {
    for (let row = 0; row < rows; row++) body.row(line, 0, line.length, flow)
    body.flush()
  }
  return { body, reader, state, send }
}

t.beforeEach(() => mock.timers.enable({ apis: ['setTimeout'] }))
t.afterEach(() => mock.timers.reset())

t.test('a reader that stops in the middle is disconnected, and the statement cancelled', async (t) => {
  const { reader, state, send } = open(2)
  for (let part = 0; part < 30; part++) send(100)
  await settle()
  t.ok(state.isPaused, 'the database waits')
  mock.timers.tick(59_000)
  t.notOk(reader.destroyed)
  mock.timers.tick(1000)
  t.ok(reader.destroyed && state.isCancelled)
  t.notOk(state.isPaused, 'so that the backend sees the cancellation')
  t.match(state.ended, { message: 'the client takes the response too slowly' })
})

t.test('a reader that stops before the last bytes is disconnected: it would keep its slot', async (t) => {
  const { body, reader, state, send } = open(1)
  send(70)
  body.end()
  await settle()
  t.equal(state.ended, undefined)
  mock.timers.tick(60_000)
  t.ok(reader.destroyed)
  t.match(state.ended, { message: 'the client takes the response too slowly' })
  t.notOk(state.isCancelled, 'the statement has ended before')
})

t.test('a reader that takes all of it is left alone', async (t) => {
  const { body, reader, state, send } = open(Infinity)
  send(70)
  body.end()
  await settle()
  t.equal(state.ended, null)
  mock.timers.tick(600_000)
  t.notOk(reader.errored)
})

t.test('Content-Encoding by Accept-Encoding', (t) => {
  const [first] = encodings
  type Case = readonly [accepted: string | undefined, encoding: string | undefined]
  const cases: readonly Case[] = [
    [undefined, undefined],
    ['', undefined],
    ['gzip', 'gzip'],
    ['x-gzip', 'gzip'],
    ['GZIP', 'gzip'],
    ['gzip, br', encodings.find((name) => name !== 'zstd')],
    ['gzip;q=1, br;q=0.5', 'gzip'],
    ['gzip;q=0', undefined],
    ['gzip;q=0, *', encodings.find((name) => name !== 'gzip')],
    ['*', first],
    ['*;q=0', undefined],
    ['identity', undefined],
    ['identity;q=0, gzip', 'gzip'],
    ['identity;q=0', undefined],
    ['identity, gzip;q=0.9', undefined],
    ['identity;q=0.5, gzip;q=0.9', 'gzip'],
    ['deflate, compress', undefined],
    ['gzip;q=2', undefined],
    ['gzip;q=abc', undefined],
    ['gzip ; q = 0.001', 'gzip'],
    ['br;level=9', 'br'],
  ]
  for (const [accepted, encoding] of cases) t.equal(chooseEncoding(accepted), encoding, String(accepted))
  t.end()
})
