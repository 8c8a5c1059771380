// `vue-postgrest`: routes and keys from PostgREST's OpenAPI document, models that save themselves, and the component's queries.
import t from 'tap'
import { until } from '../support/until.ts'
import { failureOf, scenario } from './support/scenario.ts'
import { startServer } from './support/server.ts'
import { openWindow } from './support/window.ts'

type Model = Record<string, unknown> & {
  readonly $isDirty: boolean
  readonly $get: () => Promise<unknown>
  readonly $post: () => Promise<unknown>
  readonly $patch: () => Promise<unknown>
  readonly $delete: () => Promise<unknown>
}
type Collection = readonly Model[] & {
  readonly $range: object
  readonly $get: () => Promise<unknown>
  readonly $new: (data: object) => Model
}
type Request = (query?: object, options?: object, body?: object) => Promise<Response>
type Route = Readonly<Record<'get' | 'post' | 'delete', Request>> & {
  readonly columns: readonly string[]
  readonly pks: readonly string[]
}
type Rpc = (params: object, options?: object) => Promise<Response>
type Schema = { readonly $ready: Promise<void>; readonly rpc: Readonly<Record<string, Rpc>> } & Readonly<
  Record<'posts' | 'post_tags' | 'authors' | 'todos', Route>
>
type Component = { readonly pg: unknown; readonly $destroy: () => void }
type Vue = {
  new (options: object): Component
  use: (plugin: unknown, options: object) => void
}
type Plugin = {
  readonly default: unknown
  readonly pg: unknown
  readonly usePostgrest: (apiRoot: string, token: string) => Schema
}

const server = await startServer(t)
const user = await server.addUser('editor@example.org', 'a long password')

const done =
  'routes, columns and keys by OpenAPI; lists with ranges, embeds and conditions; models that are created, changed and deleted'
await scenario(t, 'vue-postgrest', done, async (t, installation) => {
  await openWindow(t, installation)
  const { default: Vue } = await installation.load<{ default: Vue }>('vue')
  // The package's `exports` are not valid for Node.js.
  const {
    default: plugin,
    pg,
    usePostgrest,
  } = await installation.load<Plugin>('./node_modules/vue-postgrest/dist/es/vue-postgrest.js')
  const apiRoot = `${server.url}/rest/v1/`
  const token = await server.token('authenticated', { sub: user })
  Vue.use(plugin, { apiRoot })
  const schema = usePostgrest(apiRoot, token)
  await schema.$ready

  await t.test('the schema', async (t) => {
    t.strictSame(schema.posts.pks, ['id'])
    t.strictSame(schema.post_tags.pks, ['post_id', 'tag_id'])
    t.strictSame(schema.authors.columns, ['id', 'name', 'born'])
    t.strictSame(
      Object.keys(schema.rpc).filter((name) => /^(add|search)/.test(name)),
      ['add', 'search_posts'],
    )
    const found = await schema.rpc.search_posts?.(
      { phrase: 'post 1' },
      { get: true, limit: 2, query: { select: 'id' } },
    )
    t.same(await found?.json(), [{ id: 10 }, { id: 11 }])
    t.equal(found?.headers.get('content-range'), '0-1/*')
    t.equal(await (await schema.rpc.add?.({ a: 40, b: 2 }))?.json(), 42)
  })

  await t.test('conditions', async (t) => {
    const ids = async (query: object): Promise<unknown> =>
      ((await (await schema.posts.get({ select: ['id'], order: 'id', ...query })).json()) as { id: number }[]).map(
        ({ id }) => id,
      )
    t.same(await ids({ 'id.in': [1, 2, 99] }), [1, 2])
    t.same(await ids({ or: { 'id.eq': 1, 'title.eq': 'Post 02' } }), [1, 2])
    t.same(await ids({ and: { 'id.gt': 1, 'id.lt': 4, 'title.not.eq': 'Post 02' } }), [3])
    t.same(await ids({ 'labels.cs': ['even'], 'id.lte': 4 }), [2, 4])
    t.same(await ids({ details: { 'language.eq': 'de', 'words.lt': 70 } }), [3, 6])
    t.same(await ids({ 'rating.is': null, limit: 2 }), [4, 8])
    t.same(await ids({ 'title.in': ['Post 01', 'a,b(c)'] }), [1])
    const embedded = await schema.posts.get({
      select: {
        id: true,
        'author:authors': { select: { name: true } },
        tags: { select: ['name'], order: 'name.desc' },
      },
      'id.eq': 3,
    })
    t.same(await embedded.json(), [
      { id: 3, author: { name: 'Linus' }, tags: [{ name: 'letters' }, { name: 'history' }] },
    ])
  })

  await t.test('a component', async (t) => {
    const component = new Vue({
      mixins: [pg],
      data: () => ({
        pgConfig: {
          route: 'posts',
          apiRoot,
          token,
          query: { order: 'id', select: ['id', 'title', 'views'] },
          limit: 3,
          count: 'exact',
        },
      }),
    })
    t.teardown(() => component.$destroy())
    const list = component.pg as Collection
    t.ok(await until(() => list.length === 3))
    t.strictSame(list.$range, { totalCount: 40, first: 0, last: 2 })
    const [first] = list
    if (first === undefined) return t.fail('a row is expected')
    t.equal(first.title, 'Post 01')
    first.views = 5
    t.equal(first.$isDirty, true)
    await first.$patch()
    t.equal(first.$isDirty, false)
    t.same(await (await schema.posts.get({ 'id.eq': 1, select: 'views' }, { accept: 'single' })).json(), { views: 5 })
    return undefined
  })

  await t.test('new rows, and errors', async (t) => {
    const component = new Vue({
      mixins: [pg],
      data: () => ({ pgConfig: { route: 'todos', apiRoot, token, query: {} } }),
    })
    t.teardown(() => component.$destroy())
    const list = component.pg as Collection
    await list.$get()
    t.equal(list.length, 0)
    const todo = list.$new({ task: 'Read' })
    await todo.$post()
    t.match(todo, { task: 'Read', owner: user, done: false })
    t.match(await (await schema.todos.get()).json(), [{ task: 'Read' }])
    await list.$get()
    await list[0]?.$delete()
    t.same(await (await schema.todos.get()).json(), [])
    t.match(await failureOf(schema.posts.get({ 'nothing.eq': 1 })), { name: 'FetchError', status: 400, code: '42703' })
    const upsert = await schema.authors.post(
      { on_conflict: 'name' },
      { resolution: 'merge-duplicates', return: 'minimal' },
      {
        name: 'Ada',
        born: '1815-12-11',
      },
    )
    t.equal(upsert.status, 200)
    t.equal((await schema.posts.get({}, { limit: 0 }).catch((error: unknown) => error as Response)).status, 200)
    const expired = usePostgrest(apiRoot, await server.token('authenticated', { exp: 1 }))
    t.match(await expired.$ready.catch((error: unknown) => error), {
      message: `No openapi definition found for api-root: ${apiRoot}`,
      causedBy: { name: 'AuthError', status: 401, error: 'invalid_token', error_description: 'JWT expired' },
    })
  })
})
