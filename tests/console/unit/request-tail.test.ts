// Requests that the console watches: what is shown of them, what is kept, and what a slow reader gets.
import { PassThrough } from 'node:stream'
import { setTimeout as pause } from 'node:timers/promises'
import t from 'tap'
import type { RequestLine } from '../../../server/http/request-log.ts'
import type { Log } from '../../../server/running/operations/log.ts'
import { RequestTail } from '../../../server/running/operations/request-tail.ts'
import { shownTarget } from '../../../server/running/operations/shown-target.ts'
import type { RequestEvent } from '../../../server/services/console/request-protocol.ts'
import { streamRequests } from '../../../server/services/console/request-stream.ts'
import { until } from '../../support/until.ts'

const line = (path: string): RequestLine => ({
  kind: 'request',
  method: 'GET',
  path,
  status: 200,
  duration: 1,
  role: 'anon',
  requestId: 'r',
  aborted: false,
})

function tail(): { readonly tail: RequestTail; readonly log: Log; readonly written: unknown[] } {
  const written: unknown[] = []
  const made = new RequestTail({ worker: null, database: () => ({ run: () => Promise.reject(new Error('none')) }) })
  const log = made.logged({
    write: (event) => void written.push(event),
    wants: () => false,
    wantsDebug: () => false,
    setLevel: () => undefined,
    flush: () => undefined,
  })
  return { tail: made, log, written }
}

t.test('nothing is kept while requests are not watched', (t) => {
  const { tail: watched, log, written } = tail()
  log.write(line('/health'))
  t.equal(log.wants(200), false)
  t.same(watched.size, { requests: 0, bytes: 0 })
  const seen: string[] = []
  const stop = watched.watch({ onRequest: ({ path }) => void seen.push(path), onEnd: () => undefined })
  t.equal(log.wants(200), true, 'at any level of the log')
  for (let count = 0; count < 1500; count++) log.write(line(`/${count}`))
  t.equal(seen.length, 1500)
  t.equal(watched.size.requests, 1000, 'the oldest are forgotten')
  stop()
  t.same(watched.size, { requests: 0, bytes: 0 })
  log.write(line('/late'))
  t.equal(seen.length, 1500)
  t.equal(written.length, 1502, 'the log gets all')
  t.end()
})

t.test('targets are shown without secrets', (t) => {
  const jwt = 'eyJhbGciOiJIUzI1NiJ9.eyJyb2xlIjoiYW5vbiJ9.c2lnbmF0dXJl'
  const cases: readonly (readonly [string, string])[] = [
    ['/rest/v1/profiles?select=id,author&author_id=eq.5', '/rest/v1/profiles?select=id,author&author_id=eq.5'],
    ['/rest/v1/rpc/login?email=a&password=hunter2', '/rest/v1/rpc/login?email=a&password=***'],
    ['/rest/v1/users?or=(password.eq.hunter2,id.eq.1)', '/rest/v1/users?or=***'],
    ['/rest/v1/users?or=(id.eq.1,password.not.match.^hunter)', '/rest/v1/users?or=***'],
    ['/rest/v1/users?and=(token.fts(english).hunter2)', '/rest/v1/users?and=***'],
    ['/rest/v1/users?or=(password.eq(any).{hunter2})', '/rest/v1/users?or=***'],
    ['/rest/v1/users?or=(token.isdistinct.hunter2)', '/rest/v1/users?or=***'],
    ['/rest/v1/users?not.and=(id.eq.1,api_token.not.in.(a,b))', '/rest/v1/users?not.and=***'],
    ['/rest/v1/a?apikey=sb_secret_abc', '/rest/v1/a?apikey=***'],
    ['/rest/v1/a?x=eq.sb_secret_abc', '/rest/v1/a?x=***'],
    [`/rest/v1/a?x=eq.${jwt}`, '/rest/v1/a?x=***'],
    ['/rest/v1/a?url=eq.postgres%3A%2F%2Fme%3Ahunter2%40host', '/rest/v1/a?url=***'],
    ['/rest/v1/a?p%61ssword=eq.hunter2', '/rest/v1/a?p%61ssword=***'],
    [
      '/rest/v1/a?accessToken=hunter2&code=hunter2&country_code=eq.de',
      '/rest/v1/a?accessToken=***&code=***&country_code=eq.de',
    ],
    [`/rest/v1/${jwt}/a`, '/rest/v1/***/a'],
    ['/rest/v1/a?%zz=1', '/rest/v1/a?%zz=1'],
  ]
  for (const [target, shown] of cases) t.equal(shownTarget(target), shown)
  t.end()
})

t.test('a slow reader gets fewer requests, and the number of those it lacks', async (t) => {
  const { tail: watched, log } = tail()
  const response = Object.assign(new PassThrough(), { writeHead: () => response })
  streamRequests(watched, response as never, () => Promise.resolve())
  const flood = async (): Promise<void> => {
    for (let count = 0; count < 2000; count++) log.write(line(`/${'x'.repeat(100)}/${count}`))
    await pause(250)
  }
  for (let round = 0; round < 5; round++) await flood()
  t.ok(response.writableLength + response.readableLength < 500_000, 'the memory is bounded')
  let text = ''
  response.setEncoding('utf8').on('data', (chunk: string) => (text += chunk))
  const counts = (): { readonly shown: number; readonly lost: number } => {
    const events = Array.from(
      text.matchAll(/event: requests\ndata: (.*)\n/g),
      ([, data = '']) => JSON.parse(data) as RequestEvent,
    )
    return {
      shown: events.reduce((sum, { entries }) => sum + entries.length, 0),
      lost: events.reduce((sum, event) => sum + event.lost, 0),
    }
  }
  t.ok(await until(() => counts().shown + counts().lost >= 10_000))
  const { shown, lost } = counts()
  t.equal(shown + lost, 10_000)
  t.ok(lost > 5000, `${lost} are lost`)
  response.destroy()
  t.ok(await until(() => !watched.isWatched), 'watching ends with the connection')
})

t.test('a stream ends with its session, and with the server', async (t) => {
  const { tail: watched } = tail()
  const response = Object.assign(new PassThrough(), { writeHead: () => response })
  streamRequests(watched, response as never, () => Promise.resolve())
  watched.end()
  t.equal(response.writableEnded, true)
  response.destroy()
  t.ok(await until(() => !watched.isWatched))
})
