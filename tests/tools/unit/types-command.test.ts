// `rowhouse types` on a database that answers with a given catalogue.
import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import type { Config } from '../../../server/config/config.ts'
import type { DatabaseOperations, Dependencies } from '../../../server/tools/command-line/dependencies.ts'
import { runProgram } from '../../../server/tools/command-line/program.ts'
import { watchCatalogue, type Watch } from '../../../server/tools/types/watch.ts'
import type { Catalogue } from '../../../server/tools/types/catalogue.ts'

const folder = await mkdtemp(join(tmpdir(), 'rowhouse-types-'))
t.teardown(() => rm(folder, { recursive: true, force: true }))

const relation = (name: string, columns: readonly string[]) => ({
  row: {
    oid: name,
    rowType: 1,
    schema: 'api',
    name,
    kind: 'table',
    isUpdatable: false,
    columns: columns.map((column) => ({
      name: column,
      type: { oid: 23, name: 'int4', isArray: false },
      isNullable: false,
      identity: null,
      hasDefault: false,
      isGenerated: false,
      isUpdatable: false,
    })),
  },
})

type Ran = { readonly code: number; readonly out: string; readonly err: string; readonly calls: readonly unknown[] }

/** Runs the command. The first statement with a JSON array of schemas reads the relations. */
async function run(
  args: readonly string[],
  columns: readonly string[] = ['id'],
  given: Partial<Dependencies> = {},
): Promise<Ran> {
  const calls: unknown[] = []
  let [out, err] = ['', '']
  const query: DatabaseOperations['query'] = (text, values) => {
    if (text.includes('pg_relation_is_updatable')) {
      calls.push(['schemas', values?.[0]])
      return Promise.resolve({ rows: [relation('tasks', columns)] })
    }
    return Promise.resolve({ rows: [] })
  }
  const config = (file: string | undefined, uri?: string): Promise<Config> => {
    calls.push(['config', file, uri])
    return Promise.resolve({ dbSchemas: ['api'], dbExtraSearchPath: ['public'] } as unknown as Config)
  }
  const code = await runProgram(['types', ...args], {
    print: (text) => void (out += text),
    printError: (text) => void (err += text),
    withDatabaseSettings: config,
    tableSchemas: () => Promise.resolve([]),
    withDatabase: (_config, wish, use) => {
      calls.push(['database', wish])
      return use({ query } as DatabaseOperations)
    },
    watchTermination: () => ({ signal: AbortSignal.abort(), dispose: () => undefined }),
    ...given,
  } as Dependencies)
  return { code, out, err, calls }
}

const reading = ['database', { role: 'authenticator', creates: false }]

t.test('prints the types of the exposed schemas', async (t) => {
  const { code, out, err, calls } = await run([])
  t.strictSame([code, err], [0, ''])
  t.match(out, /^export type Json =\n[^]*\n {2}api: \{\n {4}Tables: \{\n {6}tasks: \{[^]*\} as const\n$/)
  t.strictSame(calls, [['config', undefined, undefined], reading, ['schemas', '["api"]']])
  const json = await run(['--json'])
  t.strictSame(JSON.parse(json.out), { types: out })
})

t.test('options', async (t) => {
  const table: [string[], unknown[], string][] = [
    [['--db-url', 'postgres://h/d'], ['config', undefined, 'postgres://h/d'], '["api"]'],
    [['-c', 'my.conf'], ['config', 'my.conf', undefined], '["api"]'],
    [['--schema', 'a, b'], ['config', undefined, undefined], '["a","b"]'],
    [['--schema', 'a', '--schema', 'b,a'], ['config', undefined, undefined], '["a","b"]'],
  ]
  for (const [args, config, schemas] of table) {
    const { code, calls } = await run(args)
    t.strictSame([code, calls], [0, [config, reading, ['schemas', schemas]]], args.join(' '))
  }
})

t.test('errors of options', async (t) => {
  const file = join(folder, 'never.ts')
  const table: [string[], RegExp][] = [
    [['--watch'], /^--watch needs a file to write: rowhouse types --watch --output /],
    [['--schema', ''], /'--schema <names>' argument '' is invalid\. Allowed are names separated by commas/],
    [['--schema', 'a,,b'], /argument 'a,,b' is invalid/],
    [['--output', file, '--check', file], /'--output <file>' cannot be used with option '--check <file>'/],
    [['--watch', '--check', file], /'--watch' cannot be used with option '--check <file>'/],
    [['extra'], /too many arguments/],
    [['--output'], /argument missing/],
  ]
  for (const [args, message] of table) {
    const { code, out, err, calls } = await run(args)
    t.strictSame([code, out, calls], [1, '', []], args.join(' '))
    t.match(err, message, args.join(' '))
  }
  await t.rejects(stat(file))
})

t.test('--output', async (t) => {
  const file = join(folder, 'output.ts')
  const { out: types } = await run([])
  t.match(await run(['--output', file]), { code: 0, out: `Wrote ${file}.\n`, err: '' })
  t.equal(await readFile(file, 'utf8'), types)
  const { mtimeMs } = await stat(file)
  t.match(await run(['--output', file]), { code: 0, out: `${file} is up to date.\n` })
  t.equal((await stat(file)).mtimeMs, mtimeMs, 'an unchanged file is not written')
  t.match(await run(['--json', '--output', file], ['id', 'more']), {
    out: `${JSON.stringify({ file, written: true })}\n`,
  })
  t.match(await readFile(file, 'utf8'), /more: number/)
  const missing = join(folder, 'none', 'types.ts')
  t.match(await run(['--output', missing]), { code: 1, out: '', err: /no such file or directory.*none/ })
})

t.test('--check', async (t) => {
  const file = join(folder, 'check.ts')
  const { out: types } = await run([])
  const advice = `To write it: rowhouse types --output ${file}\n`
  t.match(await run(['--check', file]), { code: 1, out: `${file} does not exist.\n${advice}`, err: '' })
  await writeFile(file, types)
  t.match(await run(['--check', file]), { code: 0, out: `${file} is up to date.\n` })
  await writeFile(file, types.replaceAll('\n', '\r\n'))
  t.match(await run(['--check', file]), { code: 0 }, 'line ends of Windows')
  await writeFile(file, types.replace('          id: number', '          id: string'))
  t.strictSame(await run(['--check', file]).then(({ code, out }) => [code, out]), [
    1,
    [
      `${file} is out of date:`,
      '@@ line 17 @@',
      '       tasks: {',
      '         Row: {',
      '-          id: string',
      '+          id: number',
      '         }',
      '         Insert: {',
      advice,
    ].join('\n'),
  ])
  const json = await run(['--json', '--check', file])
  t.equal(json.code, 1)
  t.match(JSON.parse(json.out), { file, upToDate: false, difference: { length: 7 } })
  const many = Array.from({ length: 100 }, (_, index) => `column_${index}`)
  const long = await run(['--check', file], many)
  t.match(long.out, /\n… and \d+ more lines\n/)
  t.equal(long.out.trim().split('\n').length, 43, 'the difference is short')
  const refused = { withDatabase: () => Promise.reject(new Error('connect ECONNREFUSED')) }
  t.match(await run(['--check', file], [], refused), { code: 2, out: '', err: 'connect ECONNREFUSED\n' })
  t.match(await run(['--check', folder]), { code: 2, err: /EISDIR/ })
})

t.test('--watch ends at the signal', async (t) => {
  const file = join(folder, 'watch.ts')
  const controller = new AbortController()
  let disposed = 0
  const { code, err, calls } = await run(['--watch', '--output', file], ['id'], {
    print: () => controller.abort(),
    watchTermination: () => ({ signal: controller.signal, dispose: () => void disposed++ }),
  })
  t.strictSame([code, err, disposed], [0, '', 1])
  t.match(await readFile(file, 'utf8'), /id: number/)
  const watching = { role: 'authenticator', creates: false, starts: false }
  t.strictSame(calls[1], ['database', watching], 'so that the server can start the embedded database')
})

const catalogue = (name: string): Catalogue => ({
  schemas: [name],
  relations: [],
  functions: [],
  namedTypes: [],
  relationships: [],
})

/** Watches a list of catalogues and errors, and stops at its end. */
async function watched(results: readonly (Catalogue | Error)[], given: Partial<Watch> = {}) {
  const controller = new AbortController()
  const [changes, errors]: [string[], string[]] = [[], []]
  let connections = 0
  let next = 0
  await watchCatalogue({
    connect: (use) => {
      connections++
      return use(async () => {
        const result = results[next++]
        if (next >= results.length) controller.abort()
        if (result instanceof Error) throw result
        return result ?? catalogue('')
      })
    },
    onChange: async ({ schemas }) => void changes.push(...schemas),
    onError: (error) => void errors.push((error as Error).message),
    signal: controller.signal,
    pause: 0,
    ...given,
  })
  return { changes, errors, connections }
}

t.test('watching', async (t) => {
  const [a, b] = [catalogue('a'), catalogue('b')]
  const lost = new Error('the connection was lost')
  t.strictSame(await watched([a, a, b, b, a]), { changes: ['a', 'b', 'a'], errors: [], connections: 1 })
  t.strictSame(
    await watched([a, lost, lost, b, lost, b]),
    { changes: ['a', 'b'], errors: [lost.message, lost.message], connections: 4 },
    'connects again, and reports an error once until it has passed',
  )
  await t.rejects(watched([lost, a]), lost, 'the first attempt must succeed')
  const full = new Error('no space left on device')
  await t.rejects(watched([a, a], { onChange: () => Promise.reject(full) }), full)
})
