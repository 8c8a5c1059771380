// Responses that are streamed row by row: rows, headers, errors in the middle, readers, limits.
import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { get, type IncomingMessage } from 'node:http'
import { connect as connectTo } from 'node:net'
import { promisify } from 'node:util'
import { brotliDecompressSync, gunzipSync } from 'node:zlib'
import t from 'tap'
import { Database } from '../../server/postgres/database.ts'
import { createExportDatabase, lineCount, startExportApi } from '../support/export-database.ts'
import { until } from '../support/until.ts'

const fixture = await createExportDatabase(t)
const { url, port, handle, database, observed } = await startExportApi(t, fixture, {
  dbTxEnd: 'commit-allow-override',
  restExportLimit: 2,
})
const ndjson = 'application/x-ndjson'
const ask = (path: string, headers: Readonly<Record<string, string>> = {}): Promise<Response> =>
  fetch(url + path, { headers: { Accept: ndjson, 'Accept-Encoding': 'identity', ...headers } })
const linesOf = (text: string): unknown[] => {
  t.ok(text === '' || text.endsWith('\n'), 'the last line is complete')
  return text
    .split('\n')
    .slice(0, -1)
    .map((line) => JSON.parse(line) as unknown)
}

const statistics = (): Database['statistics'] => (database as Database).statistics
const isIdle = (): Promise<boolean> => until(() => statistics().idle === statistics().total)
/** Whether no backend runs a statement of the API. */
const isQuiet = (): Promise<boolean> =>
  until(async () => {
    const { rows } = await fixture.query(
      `select count(*)::int as n from pg_stat_activity where datname = current_database() and state = 'active' and pid <> pg_backend_pid()`,
    )
    return rows[0]?.n === 0
  })

t.test('tables, views, functions, embeds', async (t) => {
  type Case = readonly [path: string, rows: number, first: unknown]
  const cases: readonly Case[] = [
    ['/lines?order=id&select=id', lineCount, { id: 1 }],
    ['/lines?order=id&select=id&limit=2', 2, { id: 1 }],
    [
      '/lines?order=id&select=id,parts(id)&parts.order=id&limit=1',
      1,
      { id: 1, parts: [{ id: 100 }, { id: 200 }, { id: 300 }] },
    ],
    ['/line_names?order=name&limit=1&select=n:name', 1, { n: `line 1 ä${'x'.repeat(41)}` }],
    ['/empty', 0, undefined],
    ['/rpc/numbers?most=3', 3, 1],
    ['/rpc/pairs?most=2', 2, { a: 1, b: 'p'.repeat(60) }],
    ['/rpc/five', 1, 5],
    ['/rpc/one_line?select=id', 1, { id: 1 }],
  ]
  for (const [path, rows, first] of cases) {
    const answer = await ask(path)
    t.equal(answer.status, 200, path)
    t.equal(answer.headers.get('content-type'), ndjson)
    const lines = linesOf(await answer.text())
    t.equal(lines.length, rows, path)
    t.strictSame(lines[0], first, path)
  }
  t.strictSame(linesOf(await (await ask('/rpc/numbers?most=3')).text()), [1, null, 3])
})

t.test('a line of NDJSON has no line feed, whatever a value of type json contains', async (t) => {
  await fixture.query(
    `insert into public.kinds (id, j, "wörter") values (1, E'{"a":\\n [1,\\n2]}', E'x\\ny'), (2, '"b"', null)`,
  )
  const text = await (await ask('/kinds?select=id,j,"wörter"&order=id')).text()
  t.strictSame(linesOf(text), [
    { id: 1, j: { a: [1, 2] }, wörter: 'x\ny' },
    { id: 2, j: 'b', wörter: null },
  ])
  t.equal(await (await ask('/kinds?select=id,j,"wörter"&order=id&limit=2')).text(), text, 'aggregated, too')
})

t.test('NDJSON is chosen only for a request that PostgREST refuses', async (t) => {
  type Case = readonly [accept: string, contentType: string | null, status?: number]
  const cases: readonly Case[] = [
    [ndjson, ndjson],
    ['Application/X-NDJSON; charset=utf-8', ndjson],
    ['application/x-ndjson, application/json;q=0.1', 'application/json; charset=utf-8'],
    ['application/x-ndjson, */*', 'application/json; charset=utf-8'],
    ['text/csv, application/x-ndjson', 'text/csv; charset=utf-8'],
    ['application/unknown, application/x-ndjson', ndjson],
    ['application/x-ndjson-seq', 'application/json; charset=utf-8', 406],
    ['application/vnd.pgrst.plan; for="application/x-ndjson"', 'application/json; charset=utf-8', 406],
  ]
  for (const [accept, contentType, status = 200] of cases) {
    const answer = await ask('/lines?limit=1', { Accept: accept })
    t.equal(answer.status, status, accept)
    t.equal(answer.headers.get('content-type'), contentType, accept)
    await answer.arrayBuffer()
  }
})

t.test('a media type handler of the database wins', async (t) => {
  const own = await createExportDatabase(t)
  await own.query(`
    create domain public."application/x-ndjson" as text;
    create function public.own_lines(state text, line public.lines) returns text immutable language sql as $$ select 'own' $$;
    create aggregate public.own_agg (public.lines) (initcond = '', stype = text, sfunc = public.own_lines);
    create function public.final(state text) returns public."application/x-ndjson" immutable language sql as $$ select state::public."application/x-ndjson" $$;
    drop aggregate public.own_agg (public.lines);
    create aggregate public.own_agg (public.lines) (initcond = '', stype = text, sfunc = public.own_lines, finalfunc = public.final)`)
  const api = await startExportApi(t, own)
  const answer = await fetch(`${api.url}/lines`, { headers: { Accept: ndjson } })
  t.equal(await answer.text(), 'own')
  const other = await fetch(`${api.url}/parts?limit=1`, { headers: { Accept: ndjson } })
  t.equal(linesOf(await other.text()).length, 1)
})

t.test('status and headers of large responses', async (t) => {
  type Case = readonly [path: string, prefer: string | undefined, status: number, range: string, ofCsv?: string]
  const last = lineCount - 1
  await fixture.query('analyze public.lines')
  const cases: readonly Case[] = [
    ['/lines', undefined, 200, '0-*/*', `0-${last}/*`],
    ['/lines?offset=10', undefined, 200, '10-*/*', `10-${last}/*`],
    ['/lines?limit=5000&offset=10', undefined, 200, '10-*/*', '10-5009/*'],
    ['/lines?offset=10', 'count=planned', 206, `10-*/${lineCount}`, `10-${last}/${lineCount}`],
    ['/lines', 'count=exact', 200, `0-${last}/${lineCount}`],
    ['/lines?limit=5000&offset=10', 'count=exact', 206, `10-5009/${lineCount}`],
    ['/lines?limit=9000&offset=500', 'count=exact', 206, `500-${last}/${lineCount}`],
    ['/rpc/set_of_lines?most=5000', 'count=exact', 200, '0-4999/5000'],
    ['/lines?offset=6001', 'count=exact', 416, `*/${lineCount}`],
  ]
  type Form = readonly [accept: string, prefer?: string]
  const forms: readonly Form[] = [[ndjson], ['text/csv'], ['text/csv', 'stream=rows']]
  for (const [accept, stream] of forms) {
    for (const [path, count, status, early, late = early] of cases) {
      const prefer = [count, stream].filter((value) => value !== undefined).join(', ')
      const answer = await ask(path, { Accept: accept, ...(prefer === '' ? {} : { Prefer: prefer }) })
      const range = accept === 'text/csv' && stream === undefined ? late : early
      t.equal(answer.status, status, `${accept} ${path} ${prefer}`)
      t.equal(answer.headers.get('content-range'), range, `${accept} ${path} ${prefer}`)
      if (status !== 416) t.equal(answer.headers.get('preference-applied'), prefer === '' ? null : prefer)
      t.equal(answer.headers.has('content-length'), status === 416, path)
      await answer.arrayBuffer()
    }
    const headed = await ask('/rpc/headed?most=5000', { Accept: accept })
    t.equal(headed.status, 203)
    t.equal(headed.headers.get('content-disposition'), 'attachment')
    t.equal(headed.headers.get('vary'), 'X-Own, Accept-Encoding')
    await headed.arrayBuffer()
    const head = await fetch(`${url}/lines`, { method: 'HEAD', headers: { Accept: accept } })
    t.match([head.status, head.headers.get('content-range')], [200, `0-${last}/*`])
  }
})

t.test('db-max-rows and the pre-request function', async (t) => {
  const api = await startExportApi(t, fixture, {
    dbMaxRows: 4000,
    dbPreRequest: { schema: 'public', name: 'check_request' },
  })
  const answer = await fetch(`${api.url}/lines`, { headers: { Accept: ndjson, Prefer: 'count=exact' } })
  t.equal(answer.status, 206)
  t.equal(answer.headers.get('content-range'), `0-3999/${lineCount}`)
  t.equal(answer.headers.get('x-checked'), 'yes')
  t.equal(linesOf(await answer.text()).length, 4000)
})

t.test('row-level security: every user gets the own rows', async (t) => {
  const [anna, ben, anonymous] = await Promise.all(
    ['anna', 'ben', undefined].map(async (user) => {
      const answer = await ask('/notes?select=owner,text', user === undefined ? {} : { 'X-User': user })
      return linesOf(await answer.text()) as { readonly owner: string }[]
    }),
  )
  t.ok(anna?.length === 5000 && anna.every(({ owner }) => owner === 'anna'))
  t.ok(ben?.length === 5000 && ben.every(({ owner }) => owner === 'ben'))
  t.strictSame(anonymous, [])
  const denied = await ask('/pg_authid')
  t.equal(denied.status, 404)
})

t.test('errors before the first byte are error responses', async (t) => {
  type Case = readonly [path: string, status: number, code: string]
  const cases: readonly Case[] = [
    ['/rpc/failing?at=1', 400, '22012'],
    ['/lines?missing=eq.1', 400, '42703'],
    ['/missing', 404, 'PGRST205'],
    ['/lines?id=eq.x', 400, '22P02'],
    ['/log?order=id.up', 400, 'PGRST100'],
  ]
  for (const accept of [ndjson, 'text/csv']) {
    for (const [path, status, code] of cases) {
      const answer = await ask(path, { Accept: accept })
      t.equal(answer.status, status, path)
      t.match(await answer.json(), { code }, path)
    }
  }
})

t.test('an error in the middle breaks the response off', async (t) => {
  for (const [accept, encoding] of [
    [ndjson, 'identity'],
    ['text/csv', 'identity'],
    [ndjson, 'gzip'],
    [ndjson, 'br'],
  ] as const) {
    const headers = { Accept: accept, 'Accept-Encoding': encoding, Prefer: 'stream=rows' }
    // The error may arrive before the compressed head of the response has left.
    const text = ask('/fails_late', headers).then((answer) => answer.text())
    await t.rejects(text, `fetch rejects: ${accept}, ${encoding}`)
    const adapted = await handle(new Request('http://localhost/fails_late', { headers }))
    t.equal(adapted.status, 200)
    await t.rejects(adapted.arrayBuffer(), `the adapter's stream fails: ${accept}, ${encoding}`)
  }
  const incoming = await new Promise<IncomingMessage>((resolve) =>
    get(`${url}/fails_late`, { headers: { Accept: ndjson } }, resolve),
  )
  await t.rejects(async () => {
    await incoming.resume().toArray()
  })
  t.notOk(incoming.complete, "Node's client knows that it is incomplete")
  t.ok(await isIdle())
})

t.test('CSV begins when all rows are known, as in PostgREST, unless the client prefers it earlier', async (t) => {
  const late = await ask('/fails_late', { Accept: 'text/csv' })
  t.equal(late.status, 400, 'an error in any row is an error response')
  t.match(await late.json(), { code: '22012' })
  const path = '/rpc/headed_last?most=6000'
  const [whole, early] = await Promise.all(
    ['', 'stream=rows'].map((prefer) => ask(path, { Accept: 'text/csv', Prefer: prefer })),
  )
  t.match(whole?.headers.get('x-rows'), '6000', 'headers of the last row')
  t.equal(whole?.headers.get('preference-applied'), null)
  t.equal(early?.headers.get('preference-applied'), 'stream=rows')
  t.equal(await whole?.text(), await early?.text())
  const sleepy = await ask('/sleepy?select=i', { Accept: 'text/csv', Prefer: 'stream=rows' })
  const reader = sleepy.body?.getReader()
  t.match(Buffer.from((await reader?.read())?.value as Uint8Array).toString(), /^i\n1\n2\n/, 'the first rows')
  await reader?.cancel()
  const strict = await ask('/lines?limit=1', { Accept: 'text/csv', Prefer: 'handling=strict, stream=rows' })
  t.equal(strict.status, 200)
  const json = await ask('/lines?limit=1', { Accept: 'application/json', Prefer: 'stream=rows' })
  t.equal(json.headers.get('preference-applied'), null, 'not applied to JSON')
  t.ok(await isIdle())
})

t.test("curl's exit code tells of an error in the middle, also with HTTP/1.0", async (t) => {
  const curl = (...args: readonly string[]): Promise<number | undefined> =>
    promisify(execFile)('curl', ['-s', '-o', '/dev/null', '-H', `Accept: ${ndjson}`, ...args]).then(
      () => 0,
      (error: { readonly code?: number }) => error.code,
    )
  if ((await promisify(execFile)('curl', ['--version']).catch(() => undefined)) === undefined) return
  t.equal(await curl(`${url}/lines`), 0)
  t.equal(await curl(`${url}/fails_late`), 18, 'transfer closed with outstanding data')
})

t.test('HTTP/1.0 has no chunks: the response is complete, with its length', async (t) => {
  const answerTo = async (path: string): Promise<string> => {
    const socket = connectTo(port, '127.0.0.1').setEncoding('latin1')
    socket.write(`GET ${path} HTTP/1.0\r\nAccept: ${ndjson}\r\n\r\n`)
    let text = ''
    for await (const chunk of socket) text += String(chunk)
    return text
  }
  const plain = await (await ask('/lines?order=id')).arrayBuffer()
  t.match(await answerTo('/lines?order=id'), new RegExp(`Content-Length: ${plain.byteLength}\r\n`))
  t.match(await answerTo('/fails_late'), /^HTTP\/1.1 400 [^]*"22012"/)
})

t.test('a statement timeout and a killed backend in the middle', async (t) => {
  await fixture.query(`alter role ${fixture.role} set statement_timeout = '300ms'`)
  const limited = await startExportApi(t, fixture)
  const answer = await fetch(`${limited.url}/sleepy`, { headers: { Accept: ndjson } })
  t.equal(answer.status, 200)
  await t.rejects(answer.text())
  await fixture.query(`alter role ${fixture.role} reset statement_timeout`)

  const killed = await ask('/endless')
  const reader = killed.body?.getReader()
  await reader?.read()
  await fixture.query(
    `select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid() and (state = 'active' and query like '%pgrst%' or query like '%endless%')`,
  )
  await t.rejects(async () => {
    while (!((await reader?.read())?.done ?? true));
  })
  t.equal((await ask('/lines?limit=1')).status, 200, 'the next request gets another connection')
})

t.test('a client that hangs up: the statement is cancelled, the connection returned', async (t) => {
  for (const path of ['/endless', '/sleepy']) {
    for (const readsAll of [true, false]) {
      const abort = new AbortController()
      const answer = await fetch(url + path, { headers: { Accept: ndjson }, signal: abort.signal })
      const reader = answer.body?.getReader()
      if (readsAll) await reader?.read()
      abort.abort()
      t.ok(await isIdle(), path)
      t.ok(await isQuiet(), path)
    }
  }
  const adapted = await handle(new Request('http://localhost/endless', { headers: { Accept: ndjson } }))
  const reader = adapted.body?.getReader()
  await reader?.read()
  await reader?.cancel()
  t.ok((await isIdle()) && (await isQuiet()), 'fetch adapter')
})

t.test('a slow reader stops the database, not the other way round', async (t) => {
  const incoming = await new Promise<IncomingMessage>((resolve) =>
    get(`${url}/endless`, { headers: { Accept: ndjson }, agent: false }, resolve),
  )
  await once(incoming, 'readable')
  const waits = await until(async () => {
    const { rows } = await fixture.query(
      `select wait_event from pg_stat_activity where datname = current_database() and query like '%endless%' and pid <> pg_backend_pid()`,
    )
    return rows[0]?.wait_event === 'ClientWrite'
  })
  t.ok(waits, 'the backend waits for its client')
  incoming.destroy()
  t.ok((await isIdle()) && (await isQuiet()))
})

t.test('more exports than the limit get 503, small responses do not count, and reads live on', async (t) => {
  const held = await Promise.all([ask('/endless'), ask('/endless')])
  const refused = await ask('/endless')
  t.equal(refused.status, 503)
  t.equal(refused.headers.get('retry-after'), '1')
  t.match(await refused.json(), { code: 'PGRSTX60', details: /2 at once/ })
  t.equal((await ask('/lines?limit=5')).status, 200)
  t.equal((await ask('/parts?limit=2000', { Accept: 'text/csv' })).status, 200)
  for (const { body } of held) await body?.cancel()
  t.ok(await isIdle())
  const next = await ask('/lines')
  t.equal(next.status, 200, 'a slot is free again')
  await next.arrayBuffer()
})

t.test('requests that wait for a connection end the slowest export', async (t) => {
  const api = await startExportApi(t, fixture, {}, 1)
  const headers = { Accept: ndjson, 'Accept-Encoding': 'identity' }
  const answer = await fetch(`${api.url}/endless`, { headers })
  t.equal((await fetch(`${api.url}/lines?limit=1`)).status, 200)
  await t.rejects(answer.text())
})

t.test('rows arrive before the statement has ended', async (t) => {
  for (const encoding of ['identity', 'gzip', 'br']) {
    const answer = await ask('/sleepy?select=i', { 'Accept-Encoding': encoding })
    const reader = answer.body?.getReader()
    const first = await reader?.read()
    t.ok(((first?.value as Uint8Array | undefined)?.length ?? 0) > 0, encoding)
    await reader?.cancel()
  }
  t.ok(await isIdle())
})

t.test('compression', async (t) => {
  const plain = await (await ask('/lines?order=id')).text()
  const decoders = { gzip: gunzipSync, br: brotliDecompressSync }
  for (const [coding, decode] of Object.entries(decoders)) {
    for (const accept of [ndjson, 'text/csv']) {
      const raw = await new Promise<{ readonly incoming: IncomingMessage; readonly body: Buffer }>(
        (resolve, reject) => {
          get(`${url}/lines?order=id`, { headers: { Accept: accept, 'Accept-Encoding': coding } }, (incoming) => {
            const chunks: Buffer[] = []
            incoming.on('data', (chunk: Buffer) => chunks.push(chunk))
            incoming.on('end', () => resolve({ incoming, body: Buffer.concat(chunks) }))
            incoming.on('error', reject)
          })
        },
      )
      t.equal(raw.incoming.headers['content-encoding'], coding)
      t.equal(
        raw.incoming.headers.vary,
        'Accept, Prefer, Range, Accept-Encoding, Accept-Profile, Authorization, apikey, Cookie',
      )
      const text = decode(raw.body).toString()
      t.ok(accept === ndjson ? text === plain : text.split('\n').length === lineCount + 1)
    }
  }
  const small = await ask('/lines?limit=3', { 'Accept-Encoding': 'gzip' })
  t.equal(small.headers.get('content-encoding'), null, 'small responses are not compressed')
  await small.text()
  const off = await startExportApi(t, fixture, { restExportCompression: false })
  const answer = await fetch(`${off.url}/lines`, { headers: { Accept: ndjson, 'Accept-Encoding': 'gzip' } })
  t.equal(answer.headers.get('content-encoding'), null)
  t.notMatch(answer.headers.get('vary'), /Accept-Encoding/)
  await answer.arrayBuffer()
})

t.test('the end of a response reports rows and bytes', async (t) => {
  const endOf = async (read: (response: Response) => Promise<unknown>, path: string): Promise<unknown> => {
    observed.length = 0
    const response = await ask(path)
    const body = observed[0]?.response.body
    const ended = new Promise((resolve) => {
      if (typeof body === 'object' && 'onEnd' in body) body.onEnd?.(resolve)
    })
    await read(response).catch(() => undefined)
    return ended
  }
  const text = await (await ask('/lines')).text()
  t.match(await endOf((response) => response.text(), '/lines'), {
    rows: lineCount,
    bytes: Buffer.byteLength(text),
    error: undefined,
  })
  t.match(await endOf((response) => response.text(), '/fails_late'), { error: { message: 'division by zero' } })
  t.match(await endOf(async ({ body }) => body?.cancel(), '/endless'), {
    error: { message: 'the client disconnected' },
  })
})
