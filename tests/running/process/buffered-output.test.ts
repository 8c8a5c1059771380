import { spawnSync } from 'node:child_process'
import { closeSync, openSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { bufferedOutput } from '../../../server/running/operations/buffered-output.ts'
import { until } from '../../support/until.ts'

const later = (milliseconds: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, milliseconds))

t.test('lines are written whole and in order', async (t) => {
  const file = join(t.testdir(), 'log')
  const fd = openSync(file, 'w')
  const output = bufferedOutput(fd)
  const lines = Array.from({ length: 20_000 }, (_, index) => `${index} é\n`)
  for (const [index, line] of lines.entries()) {
    output.write(line)
    if (index % 500 === 0) await later(1)
  }
  t.ok(await until(() => readFileSync(file, 'utf8') === lines.join('')), 'without a flush')
  output.write('a\n')
  output.write('b\n')
  t.equal(readFileSync(file, 'utf8'), lines.join(''), 'a few lines are buffered')
  output.flushSync()
  t.equal(readFileSync(file, 'utf8'), `${lines.join('')}a\nb\n`, 'until they are flushed')
  output.flushSync()
  t.equal(readFileSync(file, 'utf8').length, lines.join('').length + 4, 'and written once only')
  closeSync(fd)
})

t.test('a broken file descriptor does not block the exit', async (t) => {
  const closed = openSync(join(t.testdir({ x: '' }), 'x'), 'r')
  const output = bufferedOutput(closed)
  const waits = t.capture(Atomics, 'wait')
  for (let round = 0; round < 3; round++) {
    output.write('x'.repeat(10_000))
    await later(20)
    output.write('y')
    output.flushSync()
  }
  t.strictSame(waits(), [], 'only a slow reader is waited for')
  closeSync(closed)
})

const program = (body: string): string[] => [...process.execArgv, '--input-type=module', '-e', body]
const moduleUrl = new URL('../../../server/running/operations/buffered-output.ts', import.meta.url).href

t.test('buffered lines are written when the process exits', async (t) => {
  const body = `import { bufferedOutput } from ${JSON.stringify(moduleUrl)}
    const output = bufferedOutput(1); output.write('last words\\n'); process.exit(4)`
  const { status, stdout } = spawnSync(process.execPath, program(body), { encoding: 'utf8' })
  t.strictSame([status, stdout], [4, 'last words\n'])
})

t.test('if nothing can be written, lines are dropped instead of using unlimited memory', async (t) => {
  const file = join(t.testdir(), 'log')
  const fd = openSync(file, 'w')
  const output = bufferedOutput(fd)
  const line = `${'x'.repeat(999)}\n`
  // A pause, so that the completion of the first write is processed.
  for (let n = 0; n < 40_000; n++) output.write(line)
  output.flushSync()
  // The first chunk, which was written at once, and the buffered ones after it.
  t.ok(await until(() => statSync(file).size >= 16 * 1024 * 1024 + 5000))
  const { size } = statSync(file)
  t.ok(size < 17e6, `${size} of 40,000,000 bytes`)
  output.write('later\n')
  output.flushSync()
  t.match(readFileSync(file, 'utf8').slice(-20), /\nlater\n$/, 'later lines are written')
  closeSync(fd)
})
