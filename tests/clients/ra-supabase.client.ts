// `ra-supabase-core`: react-admin's providers for Supabase, which guess forms from PostgREST's OpenAPI document.
import type * as SupabaseJs from '@supabase/supabase-js'
import type { SupabaseClient } from '@supabase/supabase-js'
import t from 'tap'
import { failureOf, scenario } from './support/scenario.ts'
import { startServer } from './support/server.ts'
import { openWindow } from './support/window.ts'

type Call = (resource: string, params: object) => Promise<{ readonly data: unknown; readonly total?: number }>
type DataProvider = Readonly<Record<'getList' | 'getOne' | 'create' | 'delete', Call>> & {
  readonly getSchema: () => Promise<unknown>
}
type AuthProvider = Readonly<
  Record<'login' | 'checkAuth' | 'logout' | 'getIdentity', (params: object) => Promise<unknown>>
>
type RaSupabase = {
  readonly supabaseDataProvider: (options: object) => DataProvider
  readonly supabaseAuthProvider: (client: SupabaseClient, options: object) => AuthProvider
}

const server = await startServer(t)
await server.addUser('editor@example.org', 'a long password')

const done = 'sign-in, identity and sign-out; lists and writes of the user; forms by OpenAPI'
await scenario(t, 'ra-supabase-core', done, async (t, installation) => {
  await openWindow(t, installation)
  const { createClient } = await installation.load<typeof SupabaseJs>('@supabase/supabase-js')
  const { supabaseAuthProvider, supabaseDataProvider } = await installation.load<RaSupabase>('ra-supabase-core')
  const supabaseClient = createClient(server.url, server.publishableKey, { auth: { persistSession: false } })
  // Its timer would keep the process, as a channel between tabs would with `persistSession`.
  t.teardown(() => supabaseClient.auth.stopAutoRefresh())
  const auth = supabaseAuthProvider(supabaseClient, {
    getIdentity: ({ email }: { readonly email: string }) => Promise.resolve({ id: email }),
  })
  const data = supabaseDataProvider({ instanceUrl: server.url, apiKey: server.publishableKey, supabaseClient })
  const todos = (): ReturnType<Call> =>
    data.getList('todos', { pagination: { page: 1, perPage: 5 }, sort: { field: 'id', order: 'ASC' }, filter: {} })

  t.equal(
    await auth.checkAuth({}).then(
      () => 'accepted',
      () => 'refused',
    ),
    'refused',
    'before the sign-in',
  )
  t.match(await failureOf(auth.login({ email: 'editor@example.org', password: 'wrong' })), {
    message: 'Invalid login credentials',
  })
  await auth.login({ email: 'editor@example.org', password: 'a long password' })
  await auth.checkAuth({})
  t.match(await auth.getIdentity({}), { id: 'editor@example.org' })
  t.match(await data.getSchema(), {
    swagger: '2.0',
    definitions: { posts: { required: ['id', 'author_id', 'title', 'body', 'status', 'views', 'labels', 'details'] } },
  })
  const { data: todo } = await data.create('todos', { data: { task: 'Write' } })
  t.match(await todos(), { data: [{ task: 'Write', done: false }], total: 1 })
  await data.delete('todos', { id: (todo as { readonly id: string }).id })
  t.match(await todos(), { data: [], total: 0 })
  await auth.logout({})
  t.match(await todos(), { data: [], total: 0 })
  t.match(await failureOf(data.create('todos', { data: { task: 'x' } })), { status: 401 })
})
