// supabase-js of the first major version, which apps that were not updated since 2022 still use.
import { setTimeout as pause } from 'node:timers/promises'
import t from 'tap'
import { until } from '../support/until.ts'
import { scenario } from './support/scenario.ts'
import { startServer } from './support/server.ts'

type Result = { readonly data: unknown; readonly error: unknown; readonly count?: number; readonly user?: unknown }
type Query = PromiseLike<Result> &
  Readonly<
    Record<
      'select' | 'insert' | 'upsert' | 'update' | 'delete' | 'eq' | 'is' | 'single' | 'filter',
      (...args: readonly unknown[]) => Query
    >
  >
type Call = (...args: readonly unknown[]) => Promise<Result>
type Client = {
  readonly auth: Readonly<Record<'signUp' | 'signIn' | 'signOut' | 'update' | 'refreshSession', Call>> & {
    readonly user: () => { readonly email: string } | null
    readonly api: Readonly<
      Record<'listUsers' | 'createUser' | 'generateLink' | 'inviteUserByEmail' | 'deleteUser', Call>
    >
  }
  readonly from: (table: string) => Query & {
    readonly on: (
      event: string,
      heard: (change: { readonly eventType: string }) => void,
    ) => { readonly subscribe: (told: (state: string) => void) => unknown }
  }
  readonly rpc: (name: string, args: unknown) => Query
  readonly removeAllSubscriptions: () => Promise<unknown>
  readonly storage: Readonly<Record<'createBucket' | 'listBuckets', Call>> & {
    readonly from: (
      bucket: string,
    ) => Readonly<Record<'upload' | 'download' | 'createSignedUrl' | 'list' | 'remove', Call>>
  }
}

const server = await startServer(t)
const password = 'correct horse battery'

const done = 'accounts, administration, tables, functions, files, changes of rows'
await scenario(t, 'supabase-js 1', done, async (t, { load }) => {
  const { createClient } = await load<{ readonly createClient: (url: string, key: string) => Client }>(
    '@supabase/supabase-js',
  )
  const client = createClient(server.url, server.publishableKey)
  const admin = createClient(server.url, server.secretKey)
  t.teardown(() => client.removeAllSubscriptions())
  t.teardown(() => client.auth.signOut())

  t.match(await client.auth.signUp({ email: 'ann@example.org', password }, { data: { name: 'Ann' } }), {
    ...{ error: null, user: { user_metadata: { name: 'Ann' } } },
  })
  t.equal(client.auth.user()?.email, 'ann@example.org')
  t.match(await client.from('todos').insert([{ task: 'Write' }]), { error: null, data: [{ task: 'Write' }] })
  t.match(await client.from('todos').select('task', { count: 'exact' }).single(), { count: 1, data: { task: 'Write' } })
  t.match(await client.from('todos').update({ done: true }).eq('task', 'Write'), { data: [{ done: true }] })
  t.match(await client.auth.update({ data: { colour: 'blue' } }), { error: null })
  t.match(await client.auth.refreshSession(), { error: null })
  t.match(await client.auth.signOut(), { error: null })
  t.match(await client.from('todos').select(), { data: [], error: null })
  t.match(await client.auth.signIn({ email: 'ann@example.org', password: 'wrong' }), {
    error: { status: 400, message: 'Invalid login credentials' },
  })
  t.match(await client.auth.signIn({ email: 'link@example.org' }), { error: null }, 'a link in a mail')
  t.match(await client.auth.signIn({ email: 'ann@example.org', password }), { error: null })
  t.match(await client.from('tags').upsert({ name: 'history' }, { onConflict: 'name' }), { data: [{ id: 1 }] })
  t.match(await client.rpc('add', { a: 1, b: 2 }), { data: 3, error: null })

  t.match(await admin.auth.api.createUser({ email: 'bob@example.org', password, email_confirm: true }), { error: null })
  t.match(await admin.auth.api.generateLink('magiclink', 'bob@example.org'), {
    error: null,
    data: { action_link: /verify/ },
  })
  t.match(await admin.auth.api.inviteUserByEmail('eve@example.org'), { error: null })
  const { data: users } = await admin.auth.api.listUsers()
  t.ok((users as readonly { readonly email: string }[]).some(({ email }) => email === 'eve@example.org'))

  t.match(await admin.storage.createBucket('first'), { data: 'first', error: null })
  const files = admin.storage.from('first')
  t.match(await files.upload('a/b.txt', 'Text'), { data: { Key: 'first/a/b.txt' }, error: null })
  t.equal(await ((await files.download('a/b.txt')).data as Blob).text(), 'Text')
  const { data: signed } = await files.createSignedUrl('a/b.txt', 60)
  t.equal(await (await fetch((signed as { readonly signedURL: string }).signedURL)).text(), 'Text')
  t.match(await files.list('a'), { data: [{ name: 'b.txt' }] })
  t.match(await files.remove(['a/b.txt']), { data: [{ name: 'a/b.txt' }] })

  const heard: string[] = []
  const states: string[] = []
  const table = client.from('posts')
  table.on('*', ({ eventType }) => heard.push(eventType)).subscribe((state) => states.push(state))
  t.ok(await until(() => states.includes('SUBSCRIBED')))
  // This version knows that it has joined, but not that the server listens.
  await pause(2000)
  await admin.from('posts').insert({ author_id: 1, title: 'Draft' })
  await admin.from('posts').update({ status: 'published' }).eq('title', 'Draft')
  await admin.from('posts').delete().eq('title', 'Draft')
  t.ok(await until(() => heard.length === 3))
  t.strictSame(heard, ['INSERT', 'UPDATE', 'DELETE'])
  return undefined
})
