// Runs the recipes of the guide to realtime as they are in its text: a live list, a chat with presence, and what curl receives.
import { spawn } from 'node:child_process'
import { createClient, type RealtimeChannel, type SupabaseClient } from '@supabase/supabase-js'
import t from 'tap'
import { WebSocket } from 'ws'
import { resumingTransport } from '../../../server/client/resuming.ts'
import { createApiKey } from '../../../server/identity/api-key/api-key.ts'
import { newAddress, password } from '../../support/auth.ts'
import { withClient } from '../../support/database.ts'
import { readmeSection, runSection, sectionFunction } from '../../support/readme-section.ts'
import { startRealtimeServer } from '../../support/realtime.ts'
import { until } from '../../support/until.ts'

const { url, database } = await startRealtimeServer(t, { GOTRUE_MAILER_AUTOCONFIRM: 'true' })
await database.query(readmeSection('realtime-list-sql'))
await database.query(readmeSection('realtime-chat-sql'))
const { key } = await withClient(database.adminUri, (client) => createApiKey(client, { role: 'anon', label: 'page' }))

type Person = { readonly supabase: SupabaseClient; readonly id: string; readonly token: string }

async function signUp(): Promise<Person> {
  const supabase = createClient(url, key, {
    auth: { autoRefreshToken: false, persistSession: false },
    // Node 20 has no WebSocket.
    realtime: { transport: WebSocket as never },
  }) as SupabaseClient
  const { data, error } = await supabase.auth.signUp({ email: newAddress(), password })
  if (error) throw error
  t.teardown(() => supabase.realtime.disconnect())
  return { supabase, id: data.user?.id ?? '', token: data.session?.access_token ?? '' }
}

const isJoined = (channel: unknown): Promise<boolean> =>
  until(() => (channel as RealtimeChannel).state === ('joined' as RealtimeChannel['state']))

type Todo = { readonly id: number; readonly title: string; readonly is_done: boolean }

const titles = (todos: ReadonlyMap<number, Todo>): string =>
  [...todos.values()].map(({ title, is_done: isDone }) => (isDone ? `(${title})` : title)).join()

t.test('a live list shows the rows of its user, and no others', async (t) => {
  const [ann, bob] = [await signUp(), await signUp()]
  const list = await sectionFunction<[SupabaseClient, (todos: ReadonlyMap<number, Todo>) => void]>(
    'realtime-list',
    ['supabase', 'show'],
    ['list'],
  )
  await ann.supabase.from('todos').insert({ title: 'sleep' })
  let [shown, shownToBob] = ['', '']
  const [{ list: ofAnn }, { list: ofBob }] = [
    await list(ann.supabase, (todos) => (shown = titles(todos))),
    await list(bob.supabase, (todos) => (shownToBob = titles(todos))),
  ]
  t.ok((await isJoined(ofAnn)) && (await isJoined(ofBob)))
  t.ok(await until(() => shown === 'sleep'), 'the rows at first')
  const { data } = await ann.supabase.from('todos').insert({ title: 'milk' }).select('id').single()
  t.ok(await until(() => shown === 'sleep,milk'), shown)
  await ann.supabase.from('todos').update({ is_done: true }).eq('title', 'sleep')
  t.ok(await until(() => shown === '(sleep),milk'), shown)
  await ann.supabase.from('todos').delete().eq('id', data?.id)
  t.ok(await until(() => shown === '(sleep)'), shown)
  await bob.supabase.from('todos').insert({ title: 'bread' })
  t.ok(await until(() => shownToBob === 'bread'), shownToBob)
  t.equal(shown, '(sleep)')
})

t.test('a chat with presence, for members', async (t) => {
  const [ann, bob, eve] = [await signUp(), await signUp(), await signUp()]
  const members = `('tea', '${ann.id}'), ('tea', '${bob.id}')`
  await database.query(`insert into room_members values ${members}`)
  const chat = await sectionFunction<[SupabaseClient, string, string[], string[]]>(
    'realtime-chat',
    ['supabase', 'name', 'lines', 'people'],
    ['room'],
  )
  const lines: string[] = []
  const { room } = await chat(ann.supabase, 'Ann', lines, [])
  t.ok(await isJoined(room))
  t.ok(await until(() => lines.length === 1))
  const { room: other } = await chat(bob.supabase, 'Bob', [], [])
  t.ok(await until(() => lines.length === 2))
  t.strictSame(lines, ['Ann: Good morning', 'Bob: Good morning'])
  t.ok(await until(() => Object.keys((other as RealtimeChannel).presenceState()).length === 2))

  await database.query(readmeSection('realtime-send'))
  t.ok(await until(() => lines.includes('the kitchen: Tea is ready')), 'from SQL')

  const adapt = (text: string): string =>
    text.replace('http://127.0.0.1:3000', url).replace('curl ', 'curl -s -w "%{http_code}" ')
  t.equal(await runSection('realtime-post', { KEY: key, TOKEN: ann.token }, adapt), '202')
  t.ok(await until(() => lines.includes('curl: Hello')), 'over HTTP')
  t.equal(await runSection('realtime-post', { KEY: key, TOKEN: eve.token }, adapt), '{"message":"Unauthorized"}403')

  const { room: refused } = await chat(eve.supabase, 'Eve', [], [])
  t.ok(await until(() => (refused as RealtimeChannel).state === ('errored' as RealtimeChannel['state'])))
  const { length } = lines
  await (other as RealtimeChannel).send({ type: 'broadcast', event: 'said', payload: { by: 'Bob', text: 'Bye' } })
  t.ok(await until(() => lines.length === length + 1))
})

t.test('a list that comes back has what it missed', async (t) => {
  const { supabase: ann, token } = await signUp()
  const missed: string[] = []
  const resume = await sectionFunction<
    [
      typeof createClient,
      string,
      string,
      typeof resumingTransport,
      unknown,
      (change: { new: Todo }) => void,
      () => void,
    ]
  >(
    'realtime-resume',
    ['createClient', 'url', 'key', 'resumingTransport', 'WebSocket', 'apply', 'reload'],
    ['supabase'],
  )
  const apply = ({ new: { title } }: { new: Todo }): void => void missed.push(title)
  const { supabase } = await resume(createClient, url, token, resumingTransport, WebSocket, apply, () =>
    t.fail('a gap'),
  )
  const { realtime } = supabase as SupabaseClient
  t.teardown(() => realtime.disconnect())
  const [channel] = realtime.getChannels()
  t.ok(await isJoined(channel))
  await ann.from('todos').insert({ title: 'one' })
  t.ok(await until(() => missed.length === 1))
  await realtime.disconnect()
  await ann.from('todos').insert([{ title: 'two' }, { title: 'three' }])
  realtime.connect()
  t.ok(await until(() => missed.length === 3), missed.join())
  await ann.from('todos').insert({ title: 'four' })
  t.ok(await until(() => missed.length === 4))
  t.strictSame(missed, ['one', 'two', 'three', 'four'])
})

t.test('changes as a stream of events', async (t) => {
  const { supabase, token } = await signUp()
  const command = readmeSection('realtime-curl').trim().replace('http://127.0.0.1:3000', url)
  const curl = spawn('/bin/sh', ['-c', `exec ${command} -s`], {
    env: { PATH: process.env.PATH, KEY: key, TOKEN: token },
  })
  t.teardown(() => curl.kill())
  let text = ''
  curl.stdout.on('data', (chunk: Buffer) => (text += chunk.toString()))
  t.ok(await until(() => text !== ''), 'it begins')
  const { error } = await supabase.from('todos').insert([
    { title: 'done', is_done: true },
    { title: 'to do', is_done: false },
  ])
  t.equal(error, null)
  t.ok(await until(() => text.includes('"title":"to do"')), text)
  t.match(text, /^id: ?[0-9A-F]+\/[0-9A-F]+:\d+$/m)
  t.notMatch(text, '"title":"done"')
})
