// `@refinedev/supabase`: data and live provider of Refine, and the sign-in that its templates have.
import type { SupabaseClient } from '@supabase/supabase-js'
import t from 'tap'
import { until } from '../support/until.ts'
import { failureOf, scenario } from './support/scenario.ts'
import { startServer } from './support/server.ts'

type Found = { readonly data: unknown; readonly total?: number }
type Call = (params: Readonly<Record<string, unknown>>) => Promise<Found>
type Provider = Readonly<
  Record<
    'getList' | 'getMany' | 'getOne' | 'create' | 'createMany' | 'update' | 'updateMany' | 'deleteOne' | 'deleteMany',
    Call
  >
>
type LiveEvent = {
  readonly channel: string
  readonly type: string
  readonly payload: { readonly id?: number; readonly title?: string }
}
type Subscription = { readonly state: string }
type LiveProvider = {
  readonly subscribe: (options: {
    channel: string
    types: readonly string[]
    params?: object
    callback: (event: LiveEvent) => void
  }) => Subscription
  readonly unsubscribe: (subscription: Subscription) => Promise<void>
}
type Refine = {
  readonly createClient: (url: string, key: string) => SupabaseClient
  readonly dataProvider: (client: SupabaseClient) => Provider
  readonly liveProvider: (client: SupabaseClient) => LiveProvider
}

const server = await startServer(t)

const done =
  'lists with filters, sorts and totals, references, writes of one and many, live changes under policies, sign-in'
await scenario(t, '@refinedev/supabase', done, async (t, { load }) => {
  const { createClient, dataProvider, liveProvider } = await load<Refine>('@refinedev/supabase')
  const clientOf = async (email: string): Promise<SupabaseClient> => {
    await server.addUser(email, 'a long password')
    const client = createClient(server.url, server.publishableKey)
    t.teardown(() => client.realtime.disconnect())
    const { error } = await client.auth.signInWithPassword({ email, password: 'a long password' })
    t.equal(error, null)
    return client
  }
  const client = await clientOf('editor@example.org')
  const provider = dataProvider(client)
  const list = (filters: readonly object[], more: object = {}): Promise<Found> =>
    provider.getList({ resource: 'posts', sorters: [{ field: 'id', order: 'asc' }], filters, ...more })
  const ids = ({ data }: Found): unknown[] => (data as { readonly id: unknown }[]).map(({ id }) => id)

  await t.test('pages, sorts and totals', async (t) => {
    const page = await list([], { pagination: { currentPage: 4, pageSize: 12 } })
    t.strictSame([ids(page), page.total], [[37, 38, 39, 40], 40])
    const all = await list([], { pagination: { mode: 'off' } })
    t.strictSame([ids(all).length, all.total], [40, 40])
    const byAuthor = await provider.getList({
      resource: 'posts',
      sorters: [
        { field: 'author_id', order: 'desc' },
        { field: 'id', order: 'asc' },
      ],
      pagination: { currentPage: 1, pageSize: 2 },
      meta: { select: 'id, authors(name), tags(name)', count: 'planned' },
    })
    t.match(byAuthor.data, [{ id: 4, authors: { name: 'Dennis' }, tags: [{ name: 'history' }] }, { id: 8 }])
    const byTag = await provider.getList({
      resource: 'authors',
      sorters: [
        { field: 'id', order: 'asc' },
        { field: 'posts.id', order: 'desc' },
      ],
      pagination: { currentPage: 1, pageSize: 1 },
      meta: { select: 'name, posts(id)' },
    })
    t.match(byTag.data, [{ name: 'Ada', posts: [{ id: 37 }, { id: 33 }] }])
    t.match(await failureOf(list([], { pagination: { currentPage: 9, pageSize: 10 } })), { code: 'PGRST103' })
  })

  await t.test('operators', async (t) => {
    const cases: readonly (readonly [operator: string, field: string, value: unknown, total: number])[] = [
      ['eq', 'title', 'Post 07', 1],
      ['ne', 'id', 1, 39],
      ['lt', 'id', 3, 2],
      ['gt', 'id', 38, 2],
      ['lte', 'id', 3, 3],
      ['gte', 'id', 38, 3],
      ['in', 'title', ['Post 01', 'Post 02', 'a, b (c)'], 2],
      ['nin', 'id', '(1,2)', 38],
      ['ina', 'labels', ['odd'], 20],
      ['nina', 'labels', ['odd'], 20],
      ['between', 'id', [3, 6], 4],
      ['contains', 'title', 'POST 1', 10],
      ['containss', 'title', 'POST 1', 0],
      ['ncontains', 'title', '%1%', 27],
      ['ncontainss', 'title', '%post%', 40],
      ['startswith', 'title', 'post 0', 9],
      ['endswith', 'title', '0', 4],
      ['null', 'rating', true, 10],
      ['nnull', 'rating', null, 30],
    ]
    for (const [operator, field, value, total] of cases) {
      t.equal((await list([{ operator, field, value }])).total, total, `${operator} ${JSON.stringify(value)}`)
    }
    const or = [
      { operator: 'contains', field: 'title', value: '12' },
      { operator: 'in', field: 'id', value: [1, 2] },
      { operator: 'ina', field: 'labels', value: ['nothing'] },
    ]
    t.equal((await list([{ operator: 'or', value: or }])).total, 3)
    // The provider sends the operator as it is, and quotes in lists without a backslash.
    const startsWith = { operator: 'startswith', field: 'title', value: 'Post 3' }
    t.match(await failureOf(list([{ operator: 'or', value: [startsWith] }])), { code: 'PGRST100' })
    t.match(await failureOf(list([{ operator: 'in', field: 'title', value: ['a "b", c'] }])), { code: 'PGRST100' })
    t.equal((await list([{ operator: 'eq', field: 'details->>language', value: 'de' }])).total, 13)
    t.equal(
      (
        await list([{ operator: 'eq', field: 'authors.name', value: 'Ada' }], {
          meta: { select: '*, authors!inner(name)' },
        })
      ).total,
      10,
    )
    t.match(await failureOf(list([{ operator: 'eq', field: 'nothing', value: 1 }])), {
      code: '42703',
      statusCode: 42703,
    })
  })

  await t.test('writes', async (t) => {
    t.match((await provider.getMany({ resource: 'authors', ids: [1, 2] })).data, [{ name: 'Ada' }, { name: 'Grace' }])
    t.match((await provider.create({ resource: 'posts', variables: { author_id: 1, title: 'New' } })).data, { id: 41 })
    const many = { resource: 'tags', variables: [{ name: 'x' }, { name: 'y' }] }
    t.match((await provider.createMany(many)).data, [{ id: 5 }, { id: 6 }])
    const update = { resource: 'posts', id: 41, variables: { title: 'Newer' } }
    t.match((await provider.update(update)).data, { title: 'Newer' })
    const byName = { resource: 'authors', id: 'Ada', meta: { idColumnName: 'name' } }
    t.match((await provider.getOne(byName)).data, { id: 1 })
    t.match((await provider.updateMany({ resource: 'posts', ids: [41, 1], variables: { views: 9 } })).data, [
      { id: 41, views: 9 },
      { id: 1, views: 9 },
    ])
    await provider.deleteOne({ resource: 'posts', id: 41 })
    await provider.deleteMany({ resource: 'tags', ids: [5, 6] })
    t.equal((await list([])).total, 40)
    t.match(await failureOf(provider.create({ resource: 'tags', variables: { name: 'kernels' } })), { code: '23505' })
    t.match(await failureOf(provider.create({ resource: 'posts', variables: { title: 'x' } })), { code: '23502' })
  })

  await t.test('live changes', async (t) => {
    const heard: LiveEvent[] = []
    const [live, others] = [liveProvider(client), liveProvider(await clientOf('bob@example.org'))]
    const listen = (provider: LiveProvider, channel: string, params: object, into: LiveEvent[]): Subscription =>
      provider.subscribe({ channel, types: ['*'], params, callback: (event) => void into.push(event) })
    const filters = [{ operator: 'eq', field: 'author_id', value: 2 }]
    const hidden: LiveEvent[] = []
    const subscriptions = [
      listen(live, 'resources/posts', { filters }, heard),
      listen(live, 'resources/todos', {}, heard),
      listen(others, 'resources/todos', {}, hidden),
    ]
    t.ok(await until(() => subscriptions.every(({ state }) => state === 'joined')))
    const ofChannel = (name: string): LiveEvent[] => heard.filter(({ channel }) => channel === `resources/${name}`)
    const rowOf = ({ payload }: LiveEvent) => payload as { readonly id: number; readonly title: string }
    const titled = (title: string): LiveEvent[] => ofChannel('posts').filter((event) => rowOf(event).title === title)
    const write = async (id: number, title: string): Promise<void> => {
      await provider.update({ resource: 'posts', id, variables: { title } })
      await provider.create({ resource: 'todos', variables: { task: 'Live' } })
    }
    await write(1, 'Of another author')
    await write(2, 'Changed')
    t.ok(await until(() => titled('Changed').length > 0 && ofChannel('todos').length === 2))
    t.match(titled('Changed'), [{ type: 'updated', payload: { id: 2 } }])
    t.strictSame(
      ofChannel('posts').filter((event) => rowOf(event).id !== 2),
      [],
      'changes come in their order, so that one of another author would have come before',
    )
    t.ok(ofChannel('todos').every(({ type }) => type === 'created'))
    t.strictSame(hidden, [], 'rows of others are not announced')
    for (const subscription of subscriptions.slice(0, 2)) await live.unsubscribe(subscription)
    t.ok(await until(() => client.getChannels().length === 0))
    for (const subscription of subscriptions.slice(2)) await others.unsubscribe(subscription)
  })

  await t.test('sign-in as the auth provider of the templates', async (t) => {
    const page = createClient(server.url, server.publishableKey)
    t.match((await page.auth.getSession()).data, { session: null })
    t.match((await page.auth.signInWithPassword({ email: 'editor@example.org', password: 'wrong' })).error, {
      name: 'AuthApiError',
      message: 'Invalid login credentials',
    })
    await page.auth.signInWithPassword({ email: 'editor@example.org', password: 'a long password' })
    t.match((await page.auth.getUser()).data.user, { email: 'editor@example.org', role: 'authenticated' })
    t.match(await page.auth.updateUser({ password: 'a longer password' }), { error: null })
    t.equal((await page.auth.signOut()).error, null)
    t.match(await dataProvider(page).getList({ resource: 'todos' }), { data: [], total: 0 })
    t.equal((await dataProvider(page).getList({ resource: 'posts' })).total, 30)
  })
  return 'sends `startswith` in an `or`, and quotes in lists, in a form that PostgREST refuses, too'
})
