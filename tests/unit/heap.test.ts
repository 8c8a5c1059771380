import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import t from 'tap'
import ts from 'typescript'

/** The module as JavaScript: compiling it in the process that is measured would make its young generation grow. */
const source = readFileSync(new URL('../../server/program/heap.ts', import.meta.url), 'utf8')
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

/** @returns bytes of the young generation: at first, when it is to keep its size, and when it may grow */
function sizes(options: readonly string[]): readonly number[] {
  const args = [...options, '--max-semi-space-size=32', '--input-type=module', '--eval', program]
  const { stdout, stderr } = spawnSync(process.execPath, args, {
    encoding: 'utf8',
    env: { ...process.env, NODE_OPTIONS: '' },
  })
  if (stdout === '') throw new Error(stderr)
  return stdout.trim().split('\n').map(Number)
}

t.test('the young generation grows only in an overload', (t) => {
  const [first = 0, kept = 0, grown = 0] = sizes(['--min-semi-space-size=8'])
  // V8 counts both halves once it has copied objects from one to the other.
  t.ok(kept <= 2 * first, `${kept} after ${first} bytes`)
  t.ok(grown > kept, `${grown} after ${kept} bytes`)
  t.end()
})

t.test('one that starts small grows at any time', (t) => {
  const [first = 0, next = 0] = sizes([])
  t.ok(next > 4 * first, `${next} after ${first} bytes`)
  t.end()
})
