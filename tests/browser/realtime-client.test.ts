// Pages of another origin with supabase-js, unmodified: a live list under the policy of its owner, and a private chat of members.
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'
import type { Page } from 'puppeteer-core'
import t from 'tap'
import { createApiKey } from '../../server/identity/api-key/api-key.ts'
import { newAddress, password } from '../support/auth.ts'
import { withClient } from '../support/database.ts'
import { readmeSection } from '../support/readme-section.ts'
import { startRealtimeServer } from '../support/realtime.ts'
import { launchBrowser } from './support/browser.ts'

const [browser, { url, database }] = await Promise.all([
  launchBrowser(t),
  startRealtimeServer(t, { GOTRUE_MAILER_AUTOCONFIRM: 'true' }),
])
await database.query(readmeSection('realtime-list-sql'))
await database.query(readmeSection('realtime-chat-sql'))
const { key } = await withClient(database.adminUri, (client) => createApiKey(client, { role: 'anon', label: 'page' }))

/** What the page does, with what it has seen in `seen`. */
const source = `
import { createClient } from '@supabase/supabase-js'
import { resumingTransport } from './server/client/resuming.ts'
const sockets = []
class Recorded extends WebSocket {
  constructor(...given) {
    super(...given)
    sockets.push(this)
  }
}
const supabase = createClient(${JSON.stringify(url)}, ${JSON.stringify(key)}, {
  realtime: { transport: resumingTransport(Recorded) },
})
const seen = { list: [], said: [], people: [], statuses: [] }
const joined = (channel) => new Promise((resolve) => channel.subscribe((status, error) => {
  seen.statuses.push(status)
  if (status !== 'CLOSED') resolve(error ? status + ': ' + error.message : status)
}))
window.app = {
  seen,
  signUp: async (email, password) => (await supabase.auth.signUp({ email, password })).data.user.id,
  add: async (title) => (await supabase.from('todos').insert({ title })).error,
  list: () => joined(supabase.channel('todos').on('postgres_changes', { event: '*', schema: 'public', table: 'todos' },
    ({ eventType, new: row }) => seen.list.push(eventType + ' ' + row.title))),
  chat: async (name) => {
    const room = supabase.channel('tea', { config: { private: true, broadcast: { self: true, ack: true }, presence: { key: name } } })
    room.on('broadcast', { event: 'said' }, ({ payload }) => seen.said.push(payload.text))
      .on('presence', { event: 'sync' }, () => (seen.people = Object.keys(room.presenceState()).sort()))
    const status = await joined(room)
    if (status === 'SUBSCRIBED') await room.track({})
    window.room = room
    return status
  },
  say: (text) => window.room.send({ type: 'broadcast', event: 'said', payload: { text } }),
  // The socket breaks, as when a laptop sleeps.
  cut: () => sockets.at(-1).close(4000),
}
`

const { outputFiles } = await build({
  stdin: { contents: source, resolveDir: fileURLToPath(new URL('../../', import.meta.url)), loader: 'ts' },
  bundle: true,
  format: 'esm',
  write: false,
  logLevel: 'silent',
})
const site = createServer((request, response) => {
  const isScript = request.url === '/app.js'
  response.setHeader('Content-Type', isScript ? 'text/javascript' : 'text/html')
  response.end(isScript ? outputFiles[0]?.text : '<!doctype html><script type="module" src="app.js"></script>')
})
await new Promise<void>((resolve) => site.listen(0, '127.0.0.1', resolve))
t.teardown(() => site.close())

/** A page of a new user. */
async function open(): Promise<{ readonly page: Page; readonly id: string }> {
  const page = await (await browser.createBrowserContext()).newPage()
  // The server ends once its sockets are closed.
  t.teardown(async () => {
    if (!page.isClosed()) await page.close()
  })
  await page.goto(`http://127.0.0.1:${(site.address() as AddressInfo).port}/`)
  await page.waitForFunction('window.app !== undefined')
  const id = await page.evaluate(`app.signUp(${JSON.stringify(newAddress())}, ${JSON.stringify(password)})`)
  return { page, id: String(id) }
}

/** Waits until an expression is true in the page. */
const comes = (page: Page, expression: string): Promise<boolean> =>
  page.waitForFunction(expression, { timeout: 60_000 }).then(
    () => true,
    () => false,
  )

const [ann, bob] = [await open(), await open()]

t.test('a list shows the changes of its owner, and what it missed', async (t) => {
  for (const { page } of [ann, bob]) t.equal(await page.evaluate('app.list()'), 'SUBSCRIBED')
  t.equal(await ann.page.evaluate("app.add('milk')"), null)
  t.equal(await bob.page.evaluate("app.add('bread')"), null)
  t.ok(await comes(ann.page, "app.seen.list.join() === 'INSERT milk'"), 'Ann sees her row')
  t.ok(await comes(bob.page, "app.seen.list.join() === 'INSERT bread'"), 'Bob sees his')

  await ann.page.evaluate('app.cut()')
  await database.query("insert into todos (owner_id, title) values ($1, 'while away')", [ann.id])
  t.equal(await ann.page.evaluate("app.add('back')"), null)
  t.ok(await comes(ann.page, 'app.seen.list.length === 3'), 'the list comes back')
  t.equal(await ann.page.evaluate('app.seen.list.join()'), 'INSERT milk,INSERT while away,INSERT back')
  t.equal(await bob.page.evaluate('app.seen.list.join()'), 'INSERT bread', 'and shows nothing to others')
})

t.test('a private chat has its members, and no others', async (t) => {
  await database.query("insert into room_members (room, user_id) values ('tea', $1)", [ann.id])
  t.equal(await ann.page.evaluate("app.chat('ann')"), 'SUBSCRIBED')
  t.match(await bob.page.evaluate("app.chat('bob')"), /CHANNEL_ERROR/, 'not a member')
  await database.query("insert into room_members (room, user_id) values ('tea', $1)", [bob.id])
  const carl = await open()
  t.match(await carl.page.evaluate("app.chat('carl')"), /CHANNEL_ERROR/)
  // supabase-js joins again by itself.
  t.ok(await comes(bob.page, "app.seen.statuses.at(-1) === 'SUBSCRIBED'"), 'a member now')
  await bob.page.evaluate('room.track({})')
  t.ok(await comes(ann.page, "app.seen.people.join() === 'ann,bob'"), 'both are present')
  t.equal(await bob.page.evaluate("app.say('Good morning')"), 'ok')
  for (const { page } of [ann, bob]) t.ok(await comes(page, "app.seen.said.join() === 'Good morning'"))
  t.strictSame(await carl.page.evaluate('app.seen.said'), [])
  await bob.page.close()
  t.ok(await comes(ann.page, "app.seen.people.join() === 'ann'"), 'who closes the page leaves')
})
