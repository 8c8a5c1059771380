// `@tanstack/query-db-collection`: a store in the page that loads a table by supabase-js, and writes to it.
import type * as SupabaseJs from '@supabase/supabase-js'
import t from 'tap'
import { until } from '../support/until.ts'
import { failureOf, scenario } from './support/scenario.ts'
import { startServer } from './support/server.ts'

type Todo = { readonly id: string; task: string; done: boolean }
type Transaction = { readonly isPersisted: { readonly promise: Promise<unknown> } }
type Changes = {
  readonly transaction: {
    readonly mutations: readonly { readonly modified: Todo; readonly changes: Partial<Todo>; readonly key: string }[]
  }
}
type Collection = {
  readonly preload: () => Promise<void>
  readonly toArray: readonly Todo[]
  readonly insert: (row: Todo) => Transaction
  readonly update: (key: string, change: (draft: Todo) => void) => Transaction
  readonly delete: (key: string) => Transaction
  readonly cleanup: () => Promise<void>
}

const server = await startServer(t)
const user = await server.addUser('ann@example.org', 'a long password')

const done = 'a collection over a table: load, optimistic insert, update and delete, roll back of a refused row'
await scenario(t, '@tanstack/query-db-collection', done, async (t, { load }) => {
  const { createClient } = await load<typeof SupabaseJs>('@supabase/supabase-js')
  const { createCollection } = await load<{ createCollection: (options: unknown) => Collection }>('@tanstack/db')
  const { queryCollectionOptions } = await load<{ queryCollectionOptions: (options: object) => unknown }>(
    '@tanstack/query-db-collection',
  )
  const { QueryClient } = await load<{ QueryClient: new (options: object) => { clear: () => void } }>(
    '@tanstack/query-core',
  )
  const queryClient = new QueryClient({ defaultOptions: { queries: { retry: false } } })
  t.teardown(() => queryClient.clear())
  const token = await server.token('authenticated', { sub: user })
  const client = createClient(server.url, server.publishableKey, { accessToken: () => Promise.resolve(token) })
  const todos = createCollection(
    queryCollectionOptions({
      queryClient,
      queryKey: ['todos'],
      getKey: ({ id }: Todo) => id,
      queryFn: async () => (await client.from('todos').select('id, task, done').order('task').throwOnError()).data,
      onInsert: async ({ transaction }: Changes) => {
        await client
          .from('todos')
          .insert(transaction.mutations.map(({ modified }) => modified))
          .throwOnError()
      },
      onUpdate: async ({ transaction }: Changes) => {
        for (const { key, changes } of transaction.mutations) {
          await client.from('todos').update(changes).eq('id', key).throwOnError()
        }
      },
      onDelete: async ({ transaction }: Changes) => {
        await client
          .from('todos')
          .delete()
          .in(
            'id',
            transaction.mutations.map(({ key }) => key),
          )
          .throwOnError()
      },
    }),
  )
  t.teardown(() => todos.cleanup())
  await todos.preload()
  t.equal(todos.toArray.length, 0)
  const [one, two] = ['11111111-0000-4000-8000-000000000001', '11111111-0000-4000-8000-000000000002'] as const
  const inserted = todos.insert({ id: one, task: 'Read', done: false })
  t.match(todos.toArray, [{ task: 'Read' }], 'shown at once')
  await inserted.isPersisted.promise
  await todos.update(one, (todo) => {
    todo.done = true
  }).isPersisted.promise
  t.match((await client.from('todos').select('id, done, owner')).data, [{ id: one, done: true, owner: user }])
  const refused = todos.insert({ id: two, task: null as never, done: false })
  t.match(await failureOf(refused.isPersisted.promise), { code: '23502' })
  t.ok(await until(() => todos.toArray.length === 1), 'rolled back')
  await todos.delete(one).isPersisted.promise
  t.same((await client.from('todos').select()).data, [])
  t.ok(await until(() => todos.toArray.length === 0))
})
