// `@supabase-cache-helpers`: hooks whose caches follow the writes of the page, with react-query and SWR.
import type * as SupabaseJs from '@supabase/supabase-js'
import type { SupabaseClient } from '@supabase/supabase-js'
import { isDeepStrictEqual } from 'node:util'
import t, { type Test } from 'tap'
import type { Installation } from './support/installation.ts'
import { scenario } from './support/scenario.ts'
import { startServer } from './support/server.ts'
import { openWindow } from './support/window.ts'

type Hook<Result> = { readonly result: { readonly current: Result }; readonly unmount: () => void }
type TestingLibrary = {
  readonly renderHook: <Result>(hook: () => Result, options?: object) => Hook<Result>
  readonly waitFor: (assertion: () => void, options?: object) => Promise<void>
  readonly act: (change: () => Promise<unknown>) => Promise<void>
}
type Row = Readonly<Record<string, unknown>>
type Read = { readonly data?: readonly Row[] | null; readonly count?: number | null; readonly error?: unknown }
type Mutation = {
  readonly mutateAsync: (input: unknown) => Promise<unknown>
  readonly trigger: (input: unknown) => Promise<unknown>
}
type Scroll = Read & { readonly loadMore: null | (() => void) }
type Pages = {
  readonly currentPage: readonly Row[] | null
  readonly nextPage: null | (() => void)
  readonly previousPage: null | (() => void)
}
type UseMutation = (table: unknown, keys: readonly string[], query: string, options?: object) => Mutation
type Hooks = {
  readonly useQuery: (query: unknown) => Read
  readonly useInsertMutation: UseMutation
  readonly useUpsertMutation: UseMutation
  readonly useUpdateMutation: UseMutation
  readonly useDeleteMutation: UseMutation
}
type SwrHooks = Hooks & {
  readonly useOffsetInfiniteScrollQuery: (query: () => unknown, options: object) => Scroll
  readonly useCursorInfiniteScrollQuery: (query: () => unknown, options: object) => Scroll
  readonly useInfiniteOffsetPaginationQuery: (query: () => unknown, options: object) => Pages
}

const server = await startServer(t)
const editor = await server.addUser('editor@example.org', 'a long password')

type Page = { readonly client: SupabaseClient; readonly sent: string[]; readonly library: TestingLibrary }

/** A page of an editor, and the requests that it sends. */
async function openPage(t: Test, installation: Installation): Promise<Page> {
  await openWindow(t, installation)
  const { createClient } = await installation.load<typeof SupabaseJs>('@supabase/supabase-js')
  const sent: string[] = []
  const token = await server.token('authenticated', { sub: editor })
  const client = createClient(server.url, server.publishableKey, {
    accessToken: () => Promise.resolve(token),
    global: {
      fetch: (input, init) => {
        const { href } = new URL(input instanceof Request ? input.url : input)
        sent.push(`${init?.method ?? 'GET'} ${decodeURIComponent(href).slice(`${server.url}/rest/v1`.length)}`)
        return fetch(input, init)
      },
    },
  })
  return { client, sent, library: await installation.load<TestingLibrary>('@testing-library/react') }
}

/** Waits until a hook has returned a value. */
async function becomes(t: Test, { waitFor }: TestingLibrary, read: () => unknown, expected: unknown): Promise<void> {
  const isThere = (): void => {
    if (!isDeepStrictEqual(read(), expected)) throw new Error(`It is ${JSON.stringify(read())}`)
  }
  await waitFor(isThere, { timeout: 20_000 })
  t.strictSame(read(), expected)
}

const titles = ({ data }: Read): readonly unknown[] => (data ?? []).map(({ title }) => title)
const ids = ({ data }: Read): readonly unknown[] => (data ?? []).map(({ id }) => id)

/** What both packages do: a list that follows an insert, an upsert, an update and a delete without being read again. */
async function followWrites(
  t: Test,
  { client, sent, library }: Page,
  hooks: Hooks,
  options: object,
  name: 'mutateAsync' | 'trigger',
  author: number,
): Promise<void> {
  const { renderHook, waitFor, act } = library
  const hook = renderHook(
    () => ({
      list: hooks.useQuery(
        client
          .from('posts')
          .select('id, title, author_id, authors(name)', { count: 'exact' })
          .eq('author_id', author)
          .gt('id', 32)
          .order('id'),
      ),
      insert: hooks.useInsertMutation(client.from('posts'), ['id'], 'id, title, author_id'),
      upsert: hooks.useUpsertMutation(client.from('posts'), ['id'], 'id, title, author_id'),
      update: hooks.useUpdateMutation(client.from('posts'), ['id'], 'id, title, author_id'),
      remove: hooks.useDeleteMutation(client.from('posts'), ['id'], 'id'),
    }),
    options,
  )
  t.teardown(() => hook.unmount())
  const list = (): Read => hook.result.current.list
  await waitFor(
    () => {
      if (list().count !== 2) throw new Error(`count ${list().count}, ${JSON.stringify(list().error)}`)
    },
    { timeout: 20_000 },
  )
  t.match(list().data, [{ title: `Post ${author + 32}` }, { title: `Post ${author + 36}`, authors: {} }])
  const before = sent.filter((request) => request.startsWith('GET /posts')).length
  const write = async (
    mutation: 'insert' | 'upsert' | 'update' | 'remove',
    input: unknown,
    expected: readonly string[],
  ): Promise<void> => {
    await act(() => hook.result.current[mutation][name](input))
    await becomes(t, library, () => titles(list()), expected)
  }
  await write('update', { id: author + 32, title: 'Updated' }, ['Updated', `Post ${author + 36}`])
  await write('upsert', [{ id: author + 36, author_id: author, title: 'Upserted' }], ['Updated', 'Upserted'])
  await write('remove', { id: author + 32 }, ['Upserted'])
  const after = sent.filter((request) => request.startsWith('GET /posts')).length
  t.equal(after, before, 'the list was read once')
  const failed = hook.result.current.insert[name]([{ title: 'x', author_id: 999 }])
  await act(() => failed.catch(() => undefined))
  t.match(await failed.catch((error: unknown) => error), { code: '23503' })
}

const reactQuery = 'queries with counts and embeds; insert, upsert, update, delete that change the cache'
await scenario(t, '@supabase-cache-helpers/postgrest-react-query', reactQuery, async (t, installation) => {
  const page = await openPage(t, installation)
  const { createElement } = (
    await installation.load<{ default: { createElement: (...parts: readonly unknown[]) => unknown } }>('react')
  ).default
  const { QueryClient, QueryClientProvider } = await installation.load<{
    QueryClient: new (options: object) => { readonly clear: () => void }
    QueryClientProvider: unknown
  }>('@tanstack/react-query')
  const queries = new QueryClient({ defaultOptions: { queries: { retry: false, staleTime: Infinity } } })
  t.teardown(() => queries.clear())
  const wrapper = ({ children }: { readonly children: unknown }): unknown =>
    createElement(QueryClientProvider, { client: queries }, children)
  const hooks = await installation.load<Hooks>('@supabase-cache-helpers/postgrest-react-query')
  await followWrites(t, page, hooks, { wrapper }, 'mutateAsync', 2)
})

const swr = 'the same, and infinite scroll by offset and by cursor, pages'
await scenario(t, '@supabase-cache-helpers/postgrest-swr', swr, async (t, installation) => {
  const page = await openPage(t, installation)
  const { client, sent, library } = page
  const { renderHook, act } = library
  const hooks = await installation.load<SwrHooks>('@supabase-cache-helpers/postgrest-swr')
  const quiet = { revalidateOnFocus: false, revalidateOnReconnect: false, revalidateFirstPage: false }
  const call = (next: null | (() => void)): Promise<void> => act(async () => next?.())
  const published = () => client.from('posts').select('id, title').lte('views', 1000)

  await t.test('infinite scroll by offset', async (t) => {
    const hook = renderHook(() =>
      hooks.useOffsetInfiniteScrollQuery(() => published().order('id'), { ...quiet, pageSize: 4 }),
    )
    for (const size of [4, 8, 10]) {
      await becomes(t, library, () => hook.result.current.data?.length, size)
      await call(hook.result.current.loadMore)
    }
    t.strictSame(ids(hook.result.current), [1, 2, 3, 4, 5, 6, 7, 8, 9, 10])
    await becomes(t, library, () => hook.result.current.loadMore, null)
    hook.unmount()
  })

  await t.test('infinite scroll by cursor, of values that are not unique', async (t) => {
    const byStatus = renderHook(() =>
      hooks.useCursorInfiniteScrollQuery(
        () => client.from('posts').select('id, title, status').lte('id', 10).order('status').order('id').limit(3),
        { ...quiet, orderBy: 'status', uqOrderBy: 'id' },
      ),
    )
    for (const size of [3, 6, 9, 10]) {
      await becomes(t, library, () => byStatus.result.current.data?.length, size)
      await call(byStatus.result.current.loadMore)
    }
    t.strictSame(ids(byStatus.result.current), [4, 8, 1, 2, 3, 5, 6, 7, 9, 10])
    t.ok(
      sent.some((request) => request.includes('status.gt.')),
      'by a condition',
    )
    byStatus.unmount()
  })

  await t.test('pages', async (t) => {
    const hook = renderHook(() =>
      hooks.useInfiniteOffsetPaginationQuery(() => published().order('id'), { ...quiet, pageSize: 6 }),
    )
    const shows = (...expected: readonly number[]): Promise<void> =>
      becomes(t, library, () => ids({ data: hook.result.current.currentPage }), expected)
    await shows(1, 2, 3, 4, 5, 6)
    await call(hook.result.current.nextPage)
    await shows(7, 8, 9, 10)
    t.equal(hook.result.current.nextPage, null)
    await call(hook.result.current.previousPage)
    await shows(1, 2, 3, 4, 5, 6)
    hook.unmount()
  })

  await t.test('writes', (t) => followWrites(t, page, hooks, {}, 'trigger', 3))
  // It looks for its own condition under a name that it does not write.
  return 'its cursor needs a second column, `uqOrderBy`: without one, it reads the first page again'
})
