// n8n's Supabase node. `n8n-nodes-base` depends on hundreds of packages, some of which are not in npm's registry: only its
// archive is fetched, and the node runs with `n8n-workflow` and a context that sends its requests by `fetch`.
import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import t from 'tap'
import { clients } from './releases.ts'
import { scenario } from './support/scenario.ts'
import { startServer } from './support/server.ts'

type Row = Readonly<Record<string, unknown>>
type Items = readonly { readonly json: Row }[]
type Node = {
  readonly execute: (this: unknown) => Promise<readonly Items[]>
  readonly methods: {
    readonly loadOptions: Readonly<
      Record<'getTables' | 'getTableColumns', (this: unknown) => Promise<readonly { readonly value: string }[]>>
    >
  }
}
type Request = { method: string; uri: string; qs?: Row; body?: unknown; headers: Readonly<Record<string, string>> }

const execute = promisify(execFile)
const server = await startServer(t)

const done = 'lists of tables and columns; rows created, got, filtered, updated and deleted; 2,400 rows in pages'
await scenario(t, "n8n's Supabase node", done, async (t, { folder, load }) => {
  if (!existsSync(join(folder, 'package/dist'))) {
    const archive = `n8n-nodes-base@${clients["n8n's Supabase node"].release}`
    await execute('npm', ['pack', '--silent', archive], { cwd: folder, maxBuffer: 2 ** 26 })
    const [file = ''] = (await readdir(folder)).filter((name) => name.endsWith('.tgz'))
    await execute('tar', ['--extract', '--gzip', '--file', file], { cwd: folder })
  }
  const { Supabase } = await load<{ readonly Supabase: new () => Node }>(
    join(folder, 'package/dist/nodes/Supabase/Supabase.node.js'),
  )
  const node = new Supabase()

  /** What n8n gives to a node: its parameters, the rows before it, and requests with its credentials. */
  const context = (parameters: Row, items: readonly Row[] = [{}], key = server.secretKey): unknown => {
    const parameter = (name: string, fallback?: unknown): unknown =>
      name.split('.').reduce<unknown>((value, part) => (value as Row | undefined)?.[part], parameters) ?? fallback
    return {
      getInputData: () => items.map((json) => ({ json })),
      getNodeParameter: (name: string, index: unknown, fallback?: unknown) =>
        parameter(name, typeof index === 'number' ? fallback : index),
      getCurrentNodeParameter: parameter,
      getCredentials: () => Promise.resolve({ host: server.url, serviceRole: key }),
      getNode: () => ({ name: 'Supabase', type: 'supabase' }),
      continueOnFail: () => false,
      helpers: {
        requestWithAuthentication: async (_name: string, { method, uri, qs = {}, body, headers }: Request) => {
          const url = new URL(uri)
          for (const [name, value] of Object.entries(qs)) url.searchParams.append(name, String(value))
          const response = await fetch(url, {
            method,
            headers: { ...headers, apikey: key, Authorization: `Bearer ${key}`, 'Content-Type': 'application/json' },
            ...(body === undefined ? {} : { body: JSON.stringify(body) }),
          })
          const result: unknown = await response.json()
          if (!response.ok) throw Object.assign(new Error(`${response.status}`), result, { httpCode: response.status })
          return result
        },
        returnJsonArray: (rows: Row | readonly Row[]) => [rows].flat().map((json) => ({ json })),
        constructExecutionMetaData: (rows: Items) => rows,
      },
    }
  }
  const run = async (
    operation: string,
    parameters: Row,
    items?: readonly Row[],
    key?: string,
  ): Promise<readonly Row[]> => {
    const given = { resource: 'row', operation, tableId: 'posts', ...parameters }
    return (await node.execute.call(context(given, items, key))).flat().map(({ json }) => json)
  }
  const manual = (matchType: string, ...conditions: readonly Row[]): Row => ({
    ...{ filterType: 'manual', matchType, filters: { conditions } },
  })

  t.match((await node.methods.loadOptions.getTables.call(context({}))).map(({ value }) => value).sort(), [
    'authors',
    'post_summaries',
    'post_tags',
    'posts',
    'tags',
    'todos',
  ])
  const columns = await node.methods.loadOptions.getTableColumns.call(context({ tableId: 'authors' }))
  t.strictSame(
    columns.map(({ value }) => value),
    ['id', 'name', 'born'],
  )

  const title = 'Commas, (brackets) & "quotes"\\'
  const created = await run('create', { dataToSend: 'autoMapInputData', inputsToIgnore: 'extra' }, [
    { author_id: 1, title, extra: 1 },
    { author_id: 2, title: 'Second', extra: 2 },
  ])
  t.match(created, [{ title, status: 'draft' }, { title: 'Second' }])
  const is = (keyName: string, condition: string, keyValue: unknown): Row => ({ keyName, condition, keyValue })
  t.match(await run('get', { filters: { conditions: [is('title', 'eq', title)] } }), [{ title }])
  const getAll = { returnAll: true, orderBy: 'id' }
  for (const match of ['anyFilter', 'allFilters'])
    t.match(await run('getAll', { ...getAll, ...manual(match, is('title', 'eq', title)) }), [{ title }], match)
  const full = { keyName: 'title', condition: 'fullText', searchFunction: 'wfts', keyValue: '"post 05"' }
  t.match(await run('getAll', { ...getAll, ...manual('anyFilter', full, is('rating', 'gt', 9.5)) }), { length: 3 })
  t.match(await run('getAll', { ...manual('anyFilter'), limit: 3, orderBy: 'id.desc' }), { length: 3 })
  const byText = {
    filterType: 'string',
    filterString: 'title=in.($1,Post 07)',
    filterStringParameters: { values: [{ value: title }] },
  }
  t.match((await run('getAll', { ...getAll, ...byText })).map((row) => row.title).sort(), [title, 'Post 07'])
  const fields = { dataToSend: 'defineBelow', fieldsUi: { fieldValues: [{ fieldId: 'views', fieldValue: '7' }] } }
  t.match(await run('update', { ...fields, ...manual('allFilters', is('title', 'eq', title)) }), [{ title, views: 7 }])
  t.match(await run('delete', manual('anyFilter', is('title', 'eq', title), is('title', 'eq', 'Second'))), {
    length: 2,
  })

  const many = Array.from({ length: 2400 }, (_, n) => ({ name: `Tag ${n}` }))
  await run('create', { tableId: 'tags', dataToSend: 'autoMapInputData', inputsToIgnore: '' }, many)
  t.equal((await run('getAll', { tableId: 'tags', ...getAll, ...manual('anyFilter') })).length, 2404)

  const missing: unknown = await run('getAll', { ...getAll, tableId: 'nothing', filterType: 'none' }).catch(
    (error: unknown) => error,
  )
  t.match(missing, { httpCode: '404' })
  const forVisitors = await run('getAll', { ...getAll, filterType: 'none' }, [{}], server.publishableKey)
  t.equal(forVisitors.length, 30, 'with the key for pages, what visitors see')
  return undefined
})
