// Parts of reading from replicas that need no database.
import t from 'tap'
import {
  hasReached,
  laterPosition,
  parseLsn,
  unreachable,
  type WalPosition,
} from '../../../server/common/wal-position.ts'
import { Attempt } from '../../../server/postgres/replicas/attempt.ts'
import { PositionSamples } from '../../../server/postgres/replicas/position-samples.ts'
import { PrimaryPositions } from '../../../server/postgres/replicas/primary-positions.ts'
import { ReplayWatch } from '../../../server/postgres/replicas/replay-watch.ts'
import { isOfReplica, runsAgain } from '../../../server/postgres/replicas/rerun.ts'
import { connectionErrors } from '../../../server/postgres/connection-error.ts'
import { StatementError } from '../../../server/postgres/protocol/statement-error.ts'
import { PositionTokens } from '../../../server/rest/extensions/read-your-writes/position-token.ts'
import { RequestConsistency } from '../../../server/rest/extensions/read-your-writes/request-consistency.ts'
import type { RestTransaction } from '../../../server/rest/database.ts'
import { seededRandom, testSeed } from '../../support/seeded-random.ts'

const at = (lsn: bigint, timeline = 1): WalPosition => ({ timeline, lsn })

t.test('log sequence numbers', (t) => {
  t.equal(parseLsn('0/0'), 0n)
  t.equal(parseLsn('16/B374D848'), 0x16b374d848n)
  t.equal(parseLsn('FFFFFFFF/FFFFFFFF'), 2n ** 64n - 1n)
  for (const text of ['', '0', '1/', '/1', '1/2/3', 'g/0', '123456789/0', '1/-1'])
    t.equal(parseLsn(text), undefined, text)
  t.equal(hasReached(at(5n), at(5n)), true)
  t.equal(hasReached(at(4n), at(5n)), false)
  t.equal(hasReached(at(9n, 1), at(5n, 2)), false, 'of another timeline')
  t.equal(hasReached(at(9n, 3), at(5n, 2)), true)
  t.equal(hasReached(at(2n ** 63n, 9), unreachable), false)
  t.strictSame(laterPosition(at(9n, 1), at(5n, 2)), at(5n, 2))
  t.strictSame(laterPosition(at(9n, 1), at(5n, 1)), at(9n, 1))
  t.end()
})

t.test('texts of positions', (t) => {
  const random = seededRandom(testSeed(19))
  const secrets = [Buffer.from('one'), Buffer.from('two')]
  const tokens = new PositionTokens(secrets)
  const older = new PositionTokens(secrets.slice(1))
  const others = new PositionTokens([Buffer.from('three')])
  for (let time = 0; time < 300; time++) {
    const position = at(BigInt(random.below(2 ** 32)) << BigInt(random.below(32)), random.below(2 ** 31))
    const text = tokens.seal(position, 1000)
    t.match(text, /^[\w.-]{1,80}$/)
    t.strictSame(tokens.open(text, 999.9), position)
    t.strictSame(tokens.open(older.seal(position, 1000), 0), position, 'an older secret')
    t.equal(tokens.open(text, 1000), undefined, 'expired')
    t.equal(others.open(text, 0), undefined, 'of another secret')
    const index = random.below(text.length)
    const changed = text.slice(0, index) + random.pick(['0', 'f', '.', '9', '-', ' ', 'é', '']) + text.slice(index + 1)
    // The last character has bits that are not used.
    const opened = changed === text || index === text.length - 1 ? undefined : tokens.open(changed, 0)
    t.equal(opened, undefined, changed)
  }
  t.strictSame(tokens.open(tokens.seal(unreachable, 5), 0), unreachable)
  t.end()
})

t.test('the newest of header and cookies counts', (t) => {
  const tokens = new PositionTokens([Buffer.from('one')])
  const sealed = (lsn: bigint, seconds = 60): string => tokens.seal(at(lsn), Math.ceil(Date.now() / 1000) + seconds)
  const after = (headers: Record<string, string>): WalPosition | undefined =>
    new RequestConsistency({ header: (name) => headers[name] }, tokens).after
  t.equal(after({}), undefined)
  t.equal(after({ cookie: 'rowhouse-position; rowhouse-position=; a=b', 'rowhouse-position': ', ,' }), undefined)
  t.strictSame(after({ 'rowhouse-position': sealed(5n), cookie: `a=b; rowhouse-position=${sealed(7n)}; c` }), at(7n))
  t.strictSame(
    after({ 'rowhouse-position': `${sealed(9n)}, ${sealed(8n)}`, cookie: `rowhouse-position=${sealed(7n)}` }),
    at(9n),
  )
  t.strictSame(after({ 'rowhouse-position': sealed(9n, -60), cookie: `rowhouse-position=${sealed(7n)}` }), at(7n))
  const consistency = new RequestConsistency({ header: () => undefined }, tokens)
  t.strictSame(consistency.headers(60, true, ''), [])
  consistency.written(at(5n))
  consistency.written(at(4n))
  const [[, text] = ['', ''], [, cookie] = ['', '']] = consistency.headers(60, false, '/rest/v1')
  t.strictSame(tokens.open(text, 0), at(5n))
  t.equal(cookie, `rowhouse-position=${text}; Path=/rest/v1; Max-Age=60; HttpOnly; SameSite=Lax`)
  t.end()
})

t.test('a write never gets a position from before its commit', async (t) => {
  const random = seededRandom(testSeed(7))
  let committed = 0n
  let questions = 0
  const positions = new PrimaryPositions(async (text) => {
    if (text.includes('pg_db_role_setting')) return [{ may_happen: false }]
    questions++
    const now = committed
    await new Promise((resolve) => setTimeout(resolve, random.below(4)))
    return [
      { flushed: `0/${now.toString(16)}`, inserted: 'F/F', is_asynchronous: false, file: '00000001' + '0'.repeat(16) },
    ]
  })
  await positions.inspect()
  const write = async (): Promise<boolean> => {
    await new Promise((resolve) => setTimeout(resolve, random.below(100)))
    const own = ++committed
    return (await positions.next()).lsn >= own
  }
  const results = await Promise.all(Array.from({ length: 500 }, write))
  t.ok(results.every(Boolean))
  t.ok(questions < 100, `${questions} questions for 500 writes`)
})

t.test('positions of servers that commit asynchronously, and of servers that do not answer', async (t) => {
  const row = { flushed: '0/5', inserted: '0/9', is_asynchronous: false, file: '00000002' + '0'.repeat(16) }
  const read = async (mayHappen: boolean, answer: object | Error): Promise<WalPosition> => {
    const positions = new PrimaryPositions((text) => {
      if (text.includes('pg_db_role_setting')) return Promise.resolve([{ may_happen: mayHappen }])
      return answer instanceof Error ? Promise.reject(answer) : Promise.resolve([answer as Record<string, unknown>])
    })
    await positions.inspect()
    return positions.next()
  }
  t.strictSame(await read(false, row), at(5n, 2))
  t.strictSame(await read(true, row), at(9n, 2), 'a function may switch it off')
  t.strictSame(await read(false, { ...row, is_asynchronous: true }), at(9n, 2))
  t.strictSame(await read(false, new Error('no')), unreachable)
  t.strictSame(await read(false, { ...row, flushed: 'x' }), unreachable)
})

t.test('the lag of a replica', (t) => {
  const samples = new PositionSamples(1000)
  t.equal(samples.currentAt(at(5n), 0), undefined, 'nothing is known')
  samples.add(at(10n), 0)
  samples.add(at(10n), 100)
  samples.add(at(20n), 200)
  samples.add(at(30n), 300)
  t.equal(samples.currentAt(at(30n), 350), 350)
  t.equal(samples.currentAt(at(99n), 350), 350)
  t.equal(samples.currentAt(at(29n), 350), 200)
  t.equal(samples.currentAt(at(10n), 350), 100, 'the primary has been idle until then')
  t.equal(samples.currentAt(at(9n), 350), undefined)
  t.equal(samples.currentAt(at(30n, 2), 350), undefined, 'of another timeline')
  samples.add(at(40n), 2000)
  t.equal(samples.currentAt(at(20n), 2000), undefined, 'too long ago')
  t.equal(samples.currentAt(at(30n), 2000), 300)
  samples.add(at(35n, 2), 2100)
  t.equal(samples.currentAt(at(40n, 1), 2200), undefined, 'after a failover')
  t.equal(samples.currentAt(at(36n, 2), 2200), 2200)
  t.end()
})

t.test('waiting for a replica', async (t) => {
  let replayed = 0
  let questions = 0
  const watch = new ReplayWatch(async () => {
    questions++
    await new Promise((resolve) => setTimeout(resolve, 1))
    if (replayed > 8) throw new Error('lost')
    replayed++
  })
  const waits = [1, 2, 3, 3, 3, 5].map((position) => watch.wait(() => replayed >= position, 10_000))
  t.strictSame(await Promise.all(waits), [true, true, true, true, true, true])
  t.equal(questions, 5, 'all share the questions')
  t.equal(await watch.wait(() => false, 5), false)
  t.equal(await watch.wait(() => replayed >= 100, 10_000), false, 'the replica is lost')
})

t.test('which errors make a read run again', (t) => {
  const failed = (code: string, severity = 'ERROR'): StatementError =>
    new StatementError({ severity, code, message: '' }, { part: 0, statement: 0, isBound: true })
  for (const code of ['25006', '40001', '42P01', '22023', '42501', '55000', 'PGRST', 'P0001', '57P01']) {
    t.equal(runsAgain(failed(code)), true, code)
  }
  t.equal(runsAgain(failed('57014')), false, 'statement_timeout')
  t.equal(runsAgain(connectionErrors.callerGone()), false)
  t.equal(runsAgain(connectionErrors.timedOut()), true)
  t.equal(runsAgain(new Error('Connection terminated unexpectedly')), true)
  t.equal(isOfReplica(failed('22P02')), false)
  t.equal(isOfReplica(failed('40001')), true)
  t.equal(isOfReplica(connectionErrors.notConnected('', undefined)), true)
  t.end()
})

t.test('an abandoned attempt', (t) => {
  const passed: string[] = []
  let gone: (() => void) | undefined
  const transaction = {
    caller: { isGone: false, onGone: (listener: () => void) => ((gone = listener), () => (gone = undefined)) },
    receiver: {
      namesOf: undefined,
      hasBegun: false,
      names: () => passed.push('names'),
      columns: () => passed.push('columns') > 9,
      row: () => passed.push('row') > 9,
      flush: () => passed.push('flush'),
      measureRate: () => 5,
      giveUp: () => passed.push('give up'),
    },
  } as unknown as RestTransaction
  const attempt = new Attempt(transaction)
  const { caller, receiver } = attempt.transaction
  let told = 0
  const remove = caller.onGone(() => told++)
  t.equal(receiver?.columns([]), false)
  receiver?.flush()
  t.equal(caller.isGone, false)
  attempt.abandon()
  t.equal(told, 1)
  t.equal(caller.isGone, true)
  t.equal(transaction.caller.isGone, false)
  receiver?.names([])
  t.equal(receiver?.columns([]), true, 'what still arrives is discarded')
  t.equal(receiver?.row(Buffer.alloc(0), 0, 0, { pause: () => undefined, resume: () => undefined }), true)
  receiver?.flush()
  receiver?.giveUp()
  t.equal(receiver?.measureRate(), Infinity)
  t.strictSame(passed, ['columns', 'flush'])
  remove()
  t.equal(gone, undefined, 'nothing is left on the caller')
  t.end()
})
