// `@supabase/supabase-js`: what most programs use of it, against a built server. The parts have tests of their own.
import t from 'tap'
import type * as SupabaseJs from '@supabase/supabase-js'
import { until } from '../support/until.ts'
import { scenario } from './support/scenario.ts'
import { startServer } from './support/server.ts'

const server = await startServer(t)
const { url, publishableKey } = server

const done = 'accounts, tables with embeds and counts, functions, files, messages, changes of rows'
await scenario(t, '@supabase/supabase-js', done, async (t, { load }) => {
  const { createClient } = await load<typeof SupabaseJs>('@supabase/supabase-js')
  const client = createClient(url, publishableKey)
  t.teardown(() => client.realtime.disconnect())

  await t.test('a visitor reads', async (t) => {
    const { data, count, error } = await client
      .from('posts')
      .select('title, authors(name), tags(name)', { count: 'exact' })
      .order('id')
      .range(2, 3)
    t.equal(error, null)
    t.equal(count, 30, 'drafts are hidden')
    t.match(data, [
      { title: 'Post 03', authors: { name: 'Linus' }, tags: [{ name: 'history' }, { name: 'letters' }] },
      { title: 'Post 05', authors: { name: 'Ada' } },
    ])
    t.match(await client.from('todos').select(), { data: [], error: null })
    t.match(await client.rpc('add', { a: 1, b: 2 }), { data: 3, error: null })
  })

  await t.test('a user signs up, writes and hears of it', async (t) => {
    const { data: signedUp, error } = await client.auth.signUp({
      email: 'ann@example.org',
      password: 'a long password',
    })
    t.equal(error, null)
    t.ok(signedUp.session)
    const heard: unknown[] = []
    const channel = client.channel('todos')
    const subscribed = await new Promise((resolve) =>
      channel
        .on('postgres_changes', { event: '*', schema: 'public', table: 'todos' }, (change) => heard.push(change.new))
        .on('broadcast', { event: 'hello' }, ({ payload }) => heard.push(payload))
        .on('system', {}, ({ status }: { status: string }) => resolve(status))
        .subscribe(),
    )
    t.equal(subscribed, 'ok')
    t.match(await client.from('todos').insert({ task: 'Write' }).select().single(), {
      data: { task: 'Write', done: false, owner: signedUp.user?.id },
    })
    t.match(await client.from('todos').update({ done: true }).eq('task', 'Write').select('done').single(), {
      data: { done: true },
    })
    t.ok(await until(() => heard.length === 2))
    t.match(heard, [{ task: 'Write', done: false }, { done: true }])
    t.equal(await client.removeChannel(channel), 'ok')
  })

  await t.test('an administrator makes a bucket, a page gets a file', async (t) => {
    const admin = createClient(url, server.secretKey)
    t.equal((await admin.storage.createBucket('covers', { public: true })).error, null)
    t.equal((await admin.storage.from('covers').upload('a/b.txt', 'Cover')).error, null)
    const { data } = client.storage.from('covers').getPublicUrl('a/b.txt')
    t.equal(await (await fetch(data.publicUrl)).text(), 'Cover')
    t.match(await client.storage.from('covers').upload('c.txt', 'x'), { error: { name: 'StorageApiError' } })
    t.match((await admin.auth.admin.listUsers()).data.users.map(({ email }) => email).sort(), [
      'ann@example.org',
      'developer@example.com',
    ])
  })

  await t.test('a second person sees neither to-dos nor drafts', async (t) => {
    await server.addUser('bob@example.org', 'another password')
    const other = createClient(url, publishableKey)
    t.match(await other.auth.signInWithPassword({ email: 'bob@example.org', password: 'wrong password' }), {
      error: { code: 'invalid_credentials' },
    })
    t.equal(
      (await other.auth.signInWithPassword({ email: 'bob@example.org', password: 'another password' })).error,
      null,
    )
    t.match(await other.from('todos').select(), { data: [], error: null })
    t.match((await other.from('todos').insert({ task: 'x', owner: '00000000-0000-4000-8000-000000000000' })).error, {
      code: '42501',
    })
    t.equal((await other.auth.signOut()).error, null)
    t.match(await other.auth.getUser(), { data: { user: null } })
  })
})
