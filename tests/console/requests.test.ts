// The tail of requests: `/console/api/requests`.
import { setTimeout as pause } from 'node:timers/promises'
import t, { type Test } from 'tap'
import type {
  RequestDetails,
  RequestEntry,
  RequestEvent,
  SlowStatements,
} from '../../server/services/console/request-protocol.ts'
import { signInToConsole, startConsoleServer, type ConsoleClient, type ConsoleServer } from '../support/console.ts'
import { until } from '../support/until.ts'

type Tail = { readonly text: () => string; readonly entries: () => readonly RequestEntry[]; readonly stop: () => void }

async function follow(
  t: Pick<Test, 'teardown'>,
  { url }: ConsoleServer,
  { cookie, session }: ConsoleClient,
): Promise<Tail> {
  const ending = new AbortController()
  t.teardown(() => ending.abort())
  const response = await fetch(`${url}/console/api/requests`, {
    headers: { cookie, 'X-Console-Token': session.token },
    signal: ending.signal,
  })
  let text = ''
  const read = async (): Promise<void> => {
    for await (const chunk of response.body ?? []) text += Buffer.from(chunk).toString()
  }
  void read().catch(() => undefined)
  return {
    text: () => text,
    entries: () =>
      Array.from(
        text.matchAll(/event: requests\ndata: (.*)\n/g),
        ([, data = '']) => JSON.parse(data) as RequestEvent,
      ).flatMap(({ entries }) => entries),
    stop: () => ending.abort(),
  }
}

t.test('requests', async (t) => {
  const server = await startConsoleServer(
    t,
    {},
    'create table public.things (id int primary key, secret_word text); grant select on public.things to anon, service_role; insert into public.things select n from generate_series(1, 30) n',
  )
  const client = await signInToConsole(server)

  await t.test('are for those who are signed in', async (t) => {
    t.equal((await fetch(`${server.url}/console/api/requests`)).status, 401)
    const { cookie } = client
    t.equal((await fetch(`${server.url}/console/api/requests`, { headers: { cookie } })).status, 403)
    t.equal((await fetch(`${server.url}/console/api/requests/1`, { headers: { cookie } })).status, 403)
    t.equal((await fetch(`${server.url}/console/api/statements`)).status, 401)
  })

  await t.test('appear as they end, with their steps and plan', async (t) => {
    const tail = await follow(t, server, client)
    await fetch(`${server.url}/rest/v1/things?select=id&id=gt.7&limit=5`)
    await fetch(`${server.url}/rest/v1/nothing`)
    await fetch(`${server.url}/auth/v1/health`)
    t.ok(await until(() => tail.entries().length >= 3))
    const [read, failed, health] = tail.entries()
    t.match(read, {
      method: 'GET',
      path: '/rest/v1/things?select=id&id=gt.7&limit=5',
      route: '/rest/v1/things',
      status: 200,
      role: 'anon',
      rows: 5,
    })
    t.ok((read?.database ?? 0) > 0)
    t.match(failed, { path: '/rest/v1/nothing', status: 404 })
    t.match(health, { path: '/auth/v1/health', status: 200, rows: null })
    const { status, body } = await client.call('GET', `requests/${read?.number}`)
    t.equal(status, 200)
    const details = body.details as RequestDetails
    const texts = details.stages.flatMap(({ statements }) => statements).join()
    t.match(texts, /"public"\."things"/)
    t.match(JSON.stringify(details.plan), /"Relation Name":"things"/)
    t.notMatch(JSON.stringify(details.plan), /[^\d.]7[^\d.]/, 'values are not in the plan')
    t.equal((await client.call('GET', 'requests/999999')).status, 404)
    t.equal((await client.call('GET', 'requests/x')).status, 404)
    const { body: slow } = await client.call('GET', 'statements')
    const { source, statements } = slow.details as SlowStatements
    t.equal(source, 'seen')
    t.ok(statements.some(({ text, example }) => text.includes('things') && example?.path.includes('things')))
    tail.stop()
  })

  await t.test('do not show secrets', async (t) => {
    const tail = await follow(t, server, client)
    const { body } = await client.call('POST', 'tokens', { role: 'anon' })
    const { token } = body.details as { readonly token: string }
    const secrets = [
      'hunter2',
      token,
      'sb_secret_0123456789',
      client.cookie.slice(client.cookie.indexOf('=') + 1),
      client.session.token,
    ]
    const headers = { Authorization: `Bearer ${token}`, cookie: client.cookie }
    const paths = [
      'rest/v1/things?secret_word=eq.hunter2',
      'rest/v1/things?or=(secret_word.eq.hunter2,id.eq.1)',
      `rest/v1/things?apikey=${token}&select=id`,
      'rest/v1/things?id=eq.sb_secret_0123456789',
      'rest/v1/things?select=postgres://me:hunter2@host',
      `auth/v1/verify?token=hunter2&type=signup`,
      `storage/v1/object/sign/a/b?token=${token}`,
      `realtime/v1/changes?apikey=${token}&table=nothing`,
      `console/api/requests/hunter?code=hunter2`,
    ]
    for (const path of paths) await fetch(`${server.url}/${path}`, { headers })
    await fetch(`${server.url}/auth/v1/token?grant_type=password`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify({ email: 'a@example.com', password: 'hunter2' }),
    })
    t.ok(await until(() => tail.entries().length > paths.length))
    const numbers = tail.entries().map(({ number }) => number)
    const details = await Promise.all(numbers.map((number) => client.call('GET', `requests/${number}`)))
    const { body: statements } = await client.call('GET', 'statements')
    const shown = `${tail.text()}${JSON.stringify(details)}${JSON.stringify(statements)}`
    for (const secret of secrets) t.notMatch(shown, secret)
    tail.stop()
  })

  await t.test('are not recorded after the last reader has gone', async (t) => {
    const tail = await follow(t, server, client)
    await fetch(`${server.url}/rest/v1/things`)
    t.ok(await until(() => tail.entries().length > 0))
    const number = tail.entries()[0]?.number ?? 0
    tail.stop()
    t.ok(await until(async () => (await client.call('GET', `requests/${number}`)).status === 404))
  })

  await t.test('end for a session that has ended, and with the server', async (t) => {
    const tail = await follow(t, server, client)
    server.service.closeSockets()
    await fetch(`${server.url}/rest/v1/things`)
    await pause(300)
    t.equal(tail.entries().length, 0)
  })
})
