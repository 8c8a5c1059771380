// The program is told to stop while exports and imports run: those that end within the grace period are whole, the others are
// broken off, and the program leaves no connection behind.
import { once } from 'node:events'
import { request, type ClientRequest, type IncomingMessage } from 'node:http'
import t from 'tap'
import { createFilmDatabase } from '../../support/authenticator.ts'
import { says, startProgram } from '../../support/program.ts'
import { until } from '../../support/until.ts'

const { database, anonymous, uri } = await createFilmDatabase(t)
await database.query(`
  create table public.ids (id int primary key);
  create view public.endless as select i, repeat('e', 100) as text from (select generate_series(1, 1000000000) i) g;
  create view public.brief as select i, pg_sleep(case when i % 1000 = 0 then 0.1 else 0 end)::text as slept
    from (select generate_series(1, 20000) i) g;
  grant select on public.endless, public.brief to ${anonymous};
  grant select, insert on public.ids to ${anonymous}`)

const ndjson = 'application/x-ndjson'
const program = startProgram(t, {
  DATABASE_URL: uri,
  PGRST_DB_ANON_ROLE: anonymous,
  REST_BASE_PATH: '/',
})
await program.line(says('listening'))
const { port } = new URL(program.url())

const send = (method: string, path: string, headers: Readonly<Record<string, string>>): ClientRequest => {
  const sent = request({ host: '127.0.0.1', port, method, path, headers, agent: false })
  sent.on('error', () => undefined)
  return sent
}
const responseTo = async (sent: ClientRequest): Promise<IncomingMessage> => {
  const [response] = (await once(sent, 'response')) as [IncomingMessage]
  return response
}

/** Reads an export; `isWhole` tells whether the client knows that it has all of it. */
async function read(sent: ClientRequest): Promise<{ readonly isWhole: boolean; readonly lines: number }> {
  const response = await responseTo(sent)
  let lines = 0
  response.on('data', (chunk: Buffer) => chunk.forEach((byte) => (lines += byte === 0x0a ? 1 : 0)))
  response.on('error', () => undefined)
  await new Promise((resolve) => response.once('close', resolve))
  return { isWhole: response.complete, lines }
}

/** Begins an import, whose rows go on arriving until it is ended. */
function beginImport(from: number): { readonly sent: ClientRequest; readonly outcome: Promise<number | undefined> } {
  const sent = send('POST', '/ids', { 'Content-Type': ndjson })
  const outcome = new Promise<number | undefined>((resolve) => {
    sent.once('response', (response) => {
      response.resume()
      resolve(response.statusCode)
    })
    sent.once('close', () => resolve(undefined))
  })
  for (let id = from; id < from + 1000; id++) sent.write(`{"id":${id}}\n`)
  return { sent, outcome }
}

/** Backends of the program by what they run. */
const backends = async (pattern: string): Promise<number> => {
  const { rows } = await database.query(
    `select count(*)::int as n from pg_stat_activity
       where datname = current_database() and usename = '${new URL(uri).username}' and query like $1`,
    [pattern],
  )
  return Number(rows[0]?.n)
}

t.test('SIGTERM during exports and imports', async (t) => {
  const [brief, endless] = [send('GET', '/brief', { Accept: ndjson }), send('GET', '/endless', { Accept: ndjson })]
  const exports = Promise.all([read(brief), read(endless)])
  brief.end()
  endless.end()
  const [finishing, unfinished] = [beginImport(0), beginImport(5000)]
  t.ok(await until(async () => (await backends('copy pg_temp.%')) === 2 && (await backends('%endless%')) === 1))
  const start = performance.now()
  program.kill('SIGTERM')
  finishing.sent.end('{"id":9999}\n')
  t.equal(await finishing.outcome, 201, 'an import that ends within the grace period')
  const [whole, broken] = await exports
  t.match(whole, { isWhole: true, lines: 20_000 }, 'an export that ends within the grace period')
  t.equal(broken.isWhole, false, 'the client knows that the other export is incomplete')
  t.equal(await unfinished.outcome, undefined, 'the other import has no response')
  t.equal(await program.ended, 0)
  t.ok(performance.now() - start < 120_000)
  t.ok(await until(async () => (await backends('%')) === 0), 'no connection is left')
  const { rows } = await database.query('select count(*)::int as count, max(id) from public.ids')
  t.strictSame(rows, [{ count: 1001, max: 9999 }], 'the import that was broken off is rolled back')
})
