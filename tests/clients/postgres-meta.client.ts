// `@supabase/postgres-meta`, the back end of Supabase Studio, on the database: what Studio's pages ask it, and what they
// change, with hostile names. The REST API must serve each change at once.
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import t from 'tap'
import { freePort } from '../support/free-port.ts'
import { until } from '../support/until.ts'
import { startClientProcess } from './support/client-process.ts'
import { scenario } from './support/scenario.ts'
import { startServer } from './support/server.ts'

type Named = { readonly id: number; readonly name: string; readonly schema?: string }
type Row = Named & Readonly<Record<string, unknown>>

const server = await startServer(t)
const port = await freePort()
const hostileTable = `o"d'd Täble; drop table posts; --`
const hostileColumn = `it's "x"), (y`

/** Compiles with the types that it generates. */
const use = `
  import { createClient } from '@supabase/supabase-js'
  import type { Database } from './database.ts'
  const client = createClient<Database>('http://localhost', 'key')
  const { data } = await client.from('posts').select('title, rating, status, authors(name)').single()
  export const found: { title: string; rating: number | null; status: 'draft' | 'published'; authors: { name: string } } | null = data
  export const sum: number | null = (await client.rpc('add', { a: 1, b: 2 })).data
  // @ts-expect-error There is no such column.
  await client.from('posts').insert({ author_id: 1, title: 'x', nothing: 1 })`

const done =
  'lists of 14 kinds, SQL, changes of tables, columns, policies, functions, triggers, roles, publications; types'
await scenario(t, '@supabase/postgres-meta', done, async (t, { folder }) => {
  const home = join(folder, 'node_modules/@supabase/postgres-meta')
  const base = `http://127.0.0.1:${port}`
  const env = { PG_META_HOST: '127.0.0.1', PG_META_PORT: String(port), PG_META_DB_URL: server.databaseUri }
  await startClientProcess(t, home, ['dist/server/server.js'], env, `${base}/schemas`)

  const call = async (method: string, path: string, body?: unknown): Promise<unknown> => {
    const json =
      body === undefined ? {} : { headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(body) }
    const response = await fetch(`${base}/${path}`, { method, ...json })
    const result: unknown = await response.json()
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${JSON.stringify(result)}`)
    return result
  }
  const list = (path: string): Promise<readonly Row[]> => call('GET', path) as Promise<readonly Row[]>
  const post = (path: string, body: unknown): Promise<Row> => call('POST', path, body) as Promise<Row>
  const names = async (path: string): Promise<readonly string[]> => (await list(path)).map(({ name }) => name)

  await t.test('the lists of the pages', async (t) => {
    t.strictSame((await names('tables?included_schemas=public')).filter((name) => name !== 'profiles').sort(), [
      ...['authors', 'post_tags', 'posts', 'tags', 'todos'],
    ])
    const [posts] = (await list('tables?included_schemas=public')).filter(({ name }) => name === 'posts')
    t.match(posts, {
      rls_enabled: true,
      primary_keys: [{ name: 'id' }],
      relationships: [{ target_table_name: 'authors' }, { source_table_name: 'post_tags' }],
    })
    t.ok((await names('schemas')).includes('auth'))
    t.ok((await names('columns?included_schemas=public')).includes('published_at'))
    t.ok((await names('views')).includes('post_summaries'))
    t.ok((await names('policies?included_schemas=public')).includes('own to-dos'))
    t.ok((await names('roles')).includes('service_role'))
    t.ok((await names('functions?included_schemas=public')).includes('search_posts'))
    t.ok((await names('triggers')).length > 0)
    t.ok((await names('extensions')).includes('plpgsql'))
    t.ok((await names('publications')).includes('supabase_realtime'))
    t.ok((await names('types')).includes('post_status'))
    t.ok((await list('indexes')).length > 0)
    for (const path of ['config', 'column-privileges', 'table-privileges', 'foreign-tables', 'materialized-views'])
      t.ok(Array.isArray(await list(path)), path)
    t.match(await call('POST', 'query', { query: `select title from posts order by id limit 1` }), [
      { title: 'Post 01' },
    ])
    await t.rejects(call('POST', 'query', { query: 'select * from nothing' }), /relation \\"nothing\\" does not exist/)
  })

  await t.test('a table with a hostile name is made, served, changed and dropped', async (t) => {
    const served = async (path = '', init: RequestInit = {}): Promise<Response> =>
      fetch(`${server.url}/rest/v1/${encodeURIComponent(hostileTable)}${path}`, {
        ...init,
        headers: { apikey: server.publishableKey, 'Content-Type': 'application/json', Prefer: 'return=representation' },
      })
    const { id } = await post('tables', { schema: 'public', name: hostileTable, comment: `It's "odd"` })
    await post('columns', { table_id: id, name: 'id', type: 'int8', is_identity: true, is_primary_key: true })
    const column = await post('columns', {
      ...{ table_id: id, name: hostileColumn, type: 'text', default_value: `a'b"c`, is_unique: true, comment: `It's` },
    })
    t.match(column, { name: hostileColumn, is_unique: true, default_value: `'a''b"c'::text` })
    await call('PATCH', `tables/${id}`, { rls_enabled: true })
    t.ok(await until(async () => (await served()).status === 200), 'it is served')
    t.strictSame(await (await served()).json(), [])
    const refused = await served('', { method: 'POST', body: '{}' })
    t.match([refused.status, await refused.json()], [401, { code: '42501' }])
    const policy = await post('policies', {
      ...{ schema: 'public', table: hostileTable, name: `p"o'l`, command: 'ALL', roles: ['anon'], definition: 'true' },
    })
    t.match(await (await served('', { method: 'POST', body: '{}' })).json(), [{ id: 2, [hostileColumn]: `a'b"c` }])
    const filter = `?${encodeURIComponent(`"${hostileColumn.replaceAll('"', '\\"')}"`)}=eq.${encodeURIComponent(`a'b"c`)}`
    t.match(await (await served(filter)).json(), [{ id: 2 }], 'a filter of the column')
    t.match(await call('PATCH', `policies/${policy.id}`, { name: 'renamed', definition: 'false' }), { name: 'renamed' })
    t.strictSame(await (await served()).json(), [], 'the policy counts at once')
    await call('PATCH', `columns/${id}.2`, { name: 'plain' })
    await call('PATCH', `policies/${policy.id}`, { definition: `plain = 'a''b"c'` })
    t.ok(await until(async () => (await served('?select=plain')).status === 200), 'the new name of the column')
    t.match(await (await served('?select=plain')).json(), [{ plain: `a'b"c` }])
    await call('DELETE', `policies/${policy.id}`)
    await call('DELETE', `tables/${id}?cascade=true`)
    t.ok(await until(async () => (await served()).status === 404), 'it is served no more')
    t.ok((await names('tables?included_schemas=public')).includes('posts'))
  })

  await t.test('functions, triggers, roles, publications and schemas', async (t) => {
    const definition = ` begin new.title := upper(new.title); return new; end `
    const made = await post('functions', {
      ...{ schema: 'public', name: `up"per`, definition, return_type: 'trigger', language: 'plpgsql', args: [] },
      ...{ behavior: 'VOLATILE', security_definer: false, config_params: { search_path: 'public' } },
    })
    const trigger = await post('triggers', {
      ...{ schema: 'public', table: 'posts', name: `t"rig`, activation: 'BEFORE', events: ['INSERT'] },
      ...{ function_schema: 'public', function_name: `up"per`, orientation: 'ROW', enabled_mode: 'ORIGIN' },
    })
    const insert = await fetch(`${server.url}/rest/v1/posts?select=title`, {
      method: 'POST',
      headers: { apikey: server.secretKey, 'Content-Type': 'application/json', Prefer: 'return=representation' },
      body: JSON.stringify({ author_id: 1, title: 'loud' }),
    })
    t.match(await insert.json(), [{ title: 'LOUD' }])
    await call('DELETE', `triggers/${trigger.id}`)
    await call('DELETE', `functions/${made.id}`)
    const double = await post('functions', {
      ...{ schema: 'public', name: 'double', definition: 'select n * 2', return_type: 'int4', language: 'sql' },
      ...{ args: ['n int4'], behavior: 'IMMUTABLE' },
    })
    const rpc = (): Promise<Response> =>
      fetch(`${server.url}/rest/v1/rpc/double?n=21`, { headers: { apikey: server.publishableKey } })
    t.ok(await until(async () => (await rpc()).status === 200), 'a function is served')
    t.equal(await (await rpc()).text(), '42')
    await call('DELETE', `functions/${double.id}`)
    const role = await post('roles', { name: `ro"le`, can_login: true, password: `p'w`, connection_limit: 3 })
    t.match(role, { name: `ro"le`, can_login: true, connection_limit: 3 })
    await call('DELETE', `roles/${role.id}`)
    const [realtime] = (await list('publications')).filter(({ name }) => name === 'supabase_realtime')
    const tables = (realtime?.tables as readonly Named[]).map(({ name, schema }) => `${schema}.${name}`)
    t.match(tables.sort(), ['public.posts', 'public.todos'])
    await call('PATCH', `publications/${realtime?.id}`, { tables: [...tables, 'public.tags'] })
    t.match(await call('GET', `publications/${realtime?.id}`), { tables: { length: 3 } })
    const schema = await post('schemas', { name: `sch"ema`, owner: 'postgres' })
    await call('DELETE', `schemas/${schema.id}`)
  })

  await t.test('types, whose TypeScript compiles and describes the requests of supabase-js', async (t) => {
    for (const language of ['go', 'swift', 'python'])
      t.match(
        await (await fetch(`${base}/generators/${language}?included_schemas=public`)).text(),
        /PostsSelect|PublicPosts/,
        language,
      )
    const types = await (await fetch(`${base}/generators/typescript?included_schemas=public`)).text()
    const work = await mkdtemp(join(folder, 'types-'))
    t.teardown(() => rm(work, { recursive: true, force: true }))
    await writeFile(join(work, 'database.ts'), types)
    await writeFile(join(work, 'use.ts'), use)
    const compiler = fileURLToPath(new URL('../../node_modules/typescript/bin/tsc', import.meta.url))
    const flags = [
      '--noEmit',
      '--strict',
      '--skipLibCheck',
      '--module',
      'nodenext',
      '--target',
      'es2022',
      '--allowImportingTsExtensions',
      '--types',
      'node',
    ]
    await t.resolves(promisify(execFile)(process.execPath, [compiler, ...flags, join(work, 'use.ts')], { cwd: folder }))
  })
  return undefined
})
