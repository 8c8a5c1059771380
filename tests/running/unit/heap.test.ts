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

/** Keeps the newest objects in use, as waiting requests do, and prints the sizes of the young generation. */
const program = `
import { getHeapSpaceStatistics } from 'node:v8'
import { keepYoungGeneration, YoungGeneration } from ${heap}
keepYoungGeneration()
const waiting = []
const sizes = []
let count = 0
/** A round of the event loop, in which some two megabytes are created. */
const work = () => {
  for (const end = count + 10_000; count < end; count++) waiting[count % 5000] = { headers: { host: String(count) }, body: [count] }
}
const note = () => sizes.push(getHeapSpaceStatistics().find((space) => space.space_name === 'new_space').space_size)
for (let round = 0; round < 100; round++) work()
note()
const young = new YoungGeneration()
const stop = young.start()
const later = performance.now() + 3000
while (performance.now() < later) {
  work()
  await new Promise(setImmediate)
}
note()
young.onOverload(true)
for (let round = 0; round < 1000; round++) work()
note()
stop()
console.log(JSON.stringify(sizes))
`

/** Creates as little in a round of the event loop, and keeps as little of it, as a server with twenty connections does. */
const requests = `
import { getHeapSpaceStatistics } from 'node:v8'
import { keepYoungGeneration, YoungGeneration } from ${heap}
keepYoungGeneration()
const waiting = []
let count = 0
const stop = new YoungGeneration().start()
const sizes = []
const later = performance.now() + 3000
while (performance.now() < later) {
  for (const end = count + 200; count < end; count++) waiting[count % 200] = { headers: { host: String(count) }, body: [count] }
  await new Promise(setImmediate)
  const { space_size } = getHeapSpaceStatistics().find((space) => space.space_name === 'new_space')
  if (sizes.at(-1) !== space_size) sizes.push(space_size)
}
stop()
console.log(JSON.stringify(sizes))
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
for (let round = 0; round < 3000; round++) {
  serve()
  if (round % 10 === 0) await new Promise(setImmediate)
}
`

t.test('the young generation is small at rest, grows under load, and most in an overload', (t) => {
  const [atRest = 0, underLoad = 0, inOverload = 0] = JSON.parse(output(program, [])) as number[]
  const megabyte = 2 ** 20
  // V8 counts both halves once it has copied objects from one to the other.
  t.ok(atRest <= 4 * megabyte, `${atRest} bytes at rest`)
  t.ok(underLoad > 4 * megabyte && underLoad <= 16 * megabyte, `${underLoad} bytes under load`)
  t.ok(inOverload > underLoad, `${inOverload} bytes in an overload, after ${underLoad}`)
  t.end()
})

t.test('the young generation grows under load of which nearly nothing survives a collection, once', (t) => {
  const megabyte = 2 ** 20
  const sizes = JSON.parse(output(requests, ['--max-semi-space-size=32'])) as number[]
  t.ok((sizes[0] ?? 0) <= 2 * megabyte, `${sizes[0]} bytes at first`)
  // V8 counts the second half once it is in use.
  t.ok([4, 8].includes((sizes.at(-1) ?? 0) / megabyte), `${sizes.join(', ')} bytes`)
  t.end()
})

t.test('what requests create stays young, however long many wait', (t) => {
  const options = ['--expose-gc', '--max-semi-space-size=8', '--trace-pretenuring', '--trace-pretenuring-statistics']
  const considered = /begin.*maybe tenure/s
  t.match(output(longWaits(''), options), considered, 'by default, V8 considers the old generation')
  t.notMatch(output(longWaits('keepHeapSmall()'), options), considered)
  t.end()
})

t.test('compacting the heap gives back what garbage had, between objects that are in use, too', (t) => {
  const code = `
import { getHeapSpaceStatistics } from 'node:v8'
import { compactHeap } from ${heap}
const size = () => getHeapSpaceStatistics().find((space) => space.space_name === 'old_space').space_size
let all = Array.from({ length: 500_000 }, (_, number) => ({ number }))
const inUse = all.filter(({ number }) => number % 50 === 0)
all = undefined
const before = size()
compactHeap()
console.log(JSON.stringify([before, size(), typeof globalThis.gc, inUse.length]))
`
  const [before = 0, after = 0, ...others] = JSON.parse(output(code, [])) as (number | string)[]
  t.ok(Number(after) < Number(before) / 2, `${after} bytes after ${before}`)
  t.strictSame(others, ['undefined', 10_000])
  t.end()
})
