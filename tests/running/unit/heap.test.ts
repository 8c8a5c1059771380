import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import t from 'tap'
import ts from 'typescript'

/** The module as JavaScript: compiling it in the process that is measured would make its young generation grow. */
const source = readFileSync(new URL('../../../server/running/heap.ts', import.meta.url), 'utf8')
const { outputText } = ts.transpileModule(source, {
  compilerOptions: { module: ts.ModuleKind.ES2022, target: ts.ScriptTarget.ES2022 },
})
const heap = JSON.stringify(`data:text/javascript,${encodeURIComponent(outputText)}`)

/** Keeps the newest objects in use, as waiting requests do, and prints the size of the young generation. */
const program = `
import { getHeapSpaceStatistics } from 'node:v8'
import { letYoungGenerationGrow } from ${heap}
const waiting = []
const fill = () => {
  for (let count = 0; count < 2e6; count++) waiting[count % 50_000] = { headers: { host: String(count) }, body: [count] }
}
const print = () => console.log(getHeapSpaceStatistics().find((space) => space.space_name === 'new_space').space_size)
letYoungGenerationGrow(false)
print()
fill()
print()
letYoungGenerationGrow(true)
fill()
print()
`

/** @returns what a program prints */
function output(code: string, options: readonly string[]): string {
  const { status, stdout, stderr } = spawnSync(process.execPath, [...options, '--input-type=module', '--eval', code], {
    encoding: 'utf8',
    env: { ...process.env, NODE_OPTIONS: '' },
  })
  if (status !== 0) throw new Error(stderr)
  return stdout
}

/** @returns bytes of the young generation: at first, when it is to keep its size, and when it may grow */
const sizes = (options: readonly string[]): readonly number[] =>
  output(program, [...options, '--max-semi-space-size=32'])
    .trim()
    .split('\n')
    .map(Number)

/** Keeps arrays in use until the young generation has been collected several times. */
const longWaits = (before: string): string => `
import { keepHeapSmall } from ${heap}
${before}
// Collects what was counted before.
gc({ type: 'minor' })
console.log('begin')
const create = (count) => { const values = []; values.push(count, count + 1); return values }
const waiting = []
let count = 0
const serve = () => { for (let more = 1000; more > 0; more--) waiting[count++ % 3e5] = create(count) }
for (let round = 0; round < 6000; round++) {
  serve()
  if (round % 10 === 0) await new Promise(setImmediate)
}
`

t.test('the young generation grows only in an overload', (t) => {
  const [first = 0, kept = 0, grown = 0] = sizes(['--min-semi-space-size=8'])
  // V8 counts both halves once it has copied objects from one to the other.
  t.ok(kept <= 2 * 8 * 2 ** 20, `${kept} after ${first} bytes`)
  t.ok(grown > kept, `${grown} after ${kept} bytes`)
  t.end()
})

t.test('one that starts small grows at any time', (t) => {
  const [first = 0, next = 0] = sizes([])
  t.ok(next > 4 * first, `${next} after ${first} bytes`)
  t.end()
})

t.test('what requests create stays young, however long many wait', (t) => {
  const options = ['--expose-gc', '--max-semi-space-size=8', '--trace-pretenuring', '--trace-pretenuring-statistics']
  const considered = /begin.*maybe tenure/s
  t.match(output(longWaits(''), options), considered, 'by default, V8 considers the old generation')
  t.notMatch(output(longWaits('keepHeapSmall()'), options), considered)
  t.end()
})
