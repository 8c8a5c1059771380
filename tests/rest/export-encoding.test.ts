// Attacks on the encoding of streamed rows: errors at any row, types and formats that only Postgres can write, long rows, and other
// responses at the same time.
import t, { type Test } from 'tap'
import type { Database } from '../../server/postgres/database.ts'
import { createExportDatabase, startExportApi } from '../support/export-database.ts'
import { until } from '../support/until.ts'

const fixture = await createExportDatabase(t)
const { role } = fixture
await fixture.query(`
  create function public.quotients(at int, bytes int) returns table (n int, quotient int, text text) stable language sql as
    $$ select n, 1 / (n - at), repeat('x', bytes) from generate_series(1, 1000) n $$;
  create type public.twin as (x int, "y ""z" text);
  create table public.twins (id int primary key, one public.twin, more public.twin[], at timestamptz);
  insert into public.twins select i, (i, 'a "b"')::public.twin, array[(i, null)::public.twin, null], '2024-01-01 00:00+00'
    from generate_series(1, 3000) i;
  create type public.spoken as enum ('yes');
  create function public.spoken_json(public.spoken) returns json immutable language sql as
    $$ select json_build_object('said', $1::text) $$;
  create cast (public.spoken as json) with function public.spoken_json(public.spoken);
  create table public.said (id int, what public.spoken);
  insert into public.said values (1, 'yes'), (2, null);
  create function public.counted_twins() returns setof public.twins volatile language plpgsql as
    $$ begin insert into public.log (text) values ('twins'); return query select * from public.twins order by id; end $$;
  create function public.dates(most int) returns table (n int, at timestamptz, d date) stable language sql as
    $$ select n, timestamptz '2024-01-01 00:00+00' + n * interval '1 s', date '2024-01-01' + n from generate_series(1, most) n $$;
  create function public.sets_style(n int, at int) returns text stable language sql as
    $$ select case when n = at then set_config('datestyle', 'SQL, DMY', true) else 'x' end $$;
  create function public.changing_dates(change_at int) returns table (n int, style text, at timestamptz) stable language sql as
    $$ select n, public.sets_style(n, change_at), timestamptz '2024-01-01 00:00+00' from generate_series(1, 30000) n $$;
  create function public.long_rows(bytes int) returns table (n int, text text, list text[], doc json, plain bytea) stable language sql as
    $$ select n, repeat(chr(n), bytes), array_fill('a"b'::text, array[bytes / 20]),
      (repeat(E' \\n', bytes) || '{"a":' || repeat(E'\\n', n) || '1}')::json, convert_to(repeat('b', bytes / 2), 'UTF8')
      from generate_series(1, 3) n $$;
  create function public.waiting_rows() returns table (n int, waited text) volatile language sql as
    $$ select n, case n when 2 then pg_sleep(60)::text end from generate_series(1, 3) n $$;
  create table public.bare ();
  insert into public.bare default values; insert into public.bare default values;
  create role ${role}_dmy nologin; grant ${role} to ${role}_dmy; alter role ${role}_dmy set datestyle to 'SQL, DMY';
  grant ${role}_dmy to current_user;
  grant all on all tables in schema public to ${role}`)
t.teardown(() => fixture.query(`drop owned by ${role}_dmy; drop role ${role}_dmy`))

const { url, rest, database } = await startExportApi(t, fixture, {}, 3)
await rest.reload()
const [ndjson, csv] = ['application/x-ndjson', 'text/csv'] as const

type Headers = Readonly<Record<string, string>>
const ask = (path: string, accept: string, headers: Headers = {}, base = url): Promise<Response> =>
  fetch(base + path, { headers: { Accept: accept, 'Accept-Encoding': 'identity', ...headers } })

/** The bytes that Postgres makes of the rows of a query. */
async function expected(accept: string, query: string, header = '', settings = ''): Promise<string> {
  const line =
    accept === ndjson ? `replace(row_to_json(r)::text, chr(10), ' ')` : `substr(r::text, 2, length(r::text) - 2)`
  const { rows } = await fixture.query(
    `${settings}select coalesce(string_agg(line, chr(10)), '') as text, count(*)::int as n from (select ${line} as line from (${query}) r) l`,
  )
  const text = String(rows[0]?.text)
  if (accept === csv) return `${header}\n${text}`
  return Number(rows[0]?.n) === 0 ? '' : `${text}\n`
}

async function same(t: Test, path: string, accept: string, query: string, header = ''): Promise<void> {
  const [answer, wanted] = await Promise.all([ask(path, accept), expected(accept, query, header)])
  t.equal(answer.status, 200, path)
  const text = await answer.text()
  t.ok(text === wanted, `${path} as ${accept}: ${text.slice(0, 200)} for ${wanted.slice(0, 200)}`)
}

const statistics = (): Database['statistics'] => (database as Database).statistics
const isIdle = (): Promise<boolean> => until(() => statistics().idle === statistics().total)
const backends = async (): Promise<string> => {
  const { rows } = await fixture.query(
    `select string_agg(pid::text, ',' order by pid) as pids from pg_stat_activity
      where datname = current_database() and pid <> pg_backend_pid() and query not like '%string_agg(pid%'`,
  )
  return String(rows[0]?.pids)
}

t.test('an error at the first, a middle and the last row', async (t) => {
  for (const at of [1, 500, 1000]) {
    for (const accept of [ndjson, csv]) {
      const small = await ask(`/rpc/quotients?at=${at}&bytes=10`, accept)
      t.equal(small.status, 400, `${accept}, row ${at}, of a response that is kept`)
      t.match(await small.json(), { code: '22012' })
    }
    const large = `/rpc/quotients?at=${at}&bytes=1000`
    t.equal((await ask(large, csv)).status, 400, `CSV, row ${at}, of a large response`)
    for (const [accept, prefer] of [
      [ndjson, ''],
      [csv, 'stream=rows'],
    ] as const) {
      const body = ask(large, accept, { Prefer: prefer }).then(async (answer) => [answer.status, await answer.text()])
      if (at === 1) t.match(await body, [400, /22012/], `${accept}, row ${at}`)
      else await t.rejects(body, `${accept}, row ${at}: the response is broken off, or has begun and is`)
    }
  }
  t.ok(await isIdle())
})

t.test('types that only Postgres can write as JSON', async (t) => {
  for (let time = 0; time < 3; time++) {
    await same(t, '/twins?order=id', ndjson, 'select * from twins order by id')
    await same(t, '/twins?order=id', csv, 'select * from twins order by id', 'id,one,more,at')
    await same(t, '/said?order=id', ndjson, 'select * from said order by id')
  }
  t.ok(await isIdle())
  const before = await backends()
  for (let time = 0; time < 3; time++) await same(t, '/twins?order=id', ndjson, 'select * from twins order by id')
  t.equal(await backends(), before, 'no statement is cancelled once the types are known')
})

t.test('a function with an effect runs once, whatever its types', async (t) => {
  const called = async (): Promise<number> =>
    Number((await fixture.query(`select count(*)::int as n from public.log where text = 'twins'`)).rows[0]?.n)
  for (const accept of [ndjson, csv]) {
    const before = await called()
    const answer = await ask('/rpc/counted_twins', accept, { 'Content-Type': 'application/json' })
    t.equal(answer.status, 405, 'GET is read-only')
    const posted = await fetch(`${url}/rpc/counted_twins`, {
      method: 'POST',
      headers: { Accept: accept, 'Content-Type': 'application/json', 'Accept-Encoding': 'identity' },
      body: '{}',
    })
    const wanted = await expected(accept, 'select * from twins order by id', 'id,one,more,at')
    t.ok((await posted.text()) === wanted, accept)
    t.equal(await called(), before + 1, accept)
  }
})

t.test('dates in another format than that of JSON', async (t) => {
  const other = await startExportApi(t, { ...fixture, role: `${role}_dmy` })
  for (const most of [5, 20_000]) {
    const path = `/rpc/dates?most=${most}`
    const query = `select * from public.dates(${most})`
    for (let time = 0; time < 2; time++) {
      const json = await ask(path, ndjson, {}, other.url)
      t.ok((await json.text()) === (await expected(ndjson, query)), `NDJSON is ISO 8601: ${most} rows`)
    }
    const text = await (await ask(path, csv, {}, other.url)).text()
    t.match(text, /^n,at,d\n1,"01\/01\/2024 00:00:01 UTC",02\/01\/2024\n/, 'CSV has the format of the role')
  }
  for (const at of [1, 2, 20_000]) {
    const answer = await ask(`/rpc/changing_dates?change_at=${at}`, ndjson)
    const text = await answer.text().catch(() => 'broken off')
    if (text !== 'broken off')
      for (const line of text.split('\n', 30_000)) if (!line.includes('T00:00:00')) t.fail(line)
    t.ok(answer.status === 200 || answer.status === 400, `a format that changes at row ${at}: ${text.slice(0, 100)}`)
  }
  t.ok(await isIdle())
})

t.test('rows longer than what is written at once', async (t) => {
  for (const bytes of [400_000, 2_700_000]) {
    for (const accept of [ndjson, csv]) {
      await same(
        t,
        `/rpc/long_rows?bytes=${bytes}`,
        accept,
        `select * from long_rows(${bytes})`,
        'n,text,list,doc,plain',
      )
    }
    const scalar = `/rpc/long_rows?bytes=${bytes}&select=text`
    await same(t, scalar, ndjson, `select text from long_rows(${bytes})`)
  }
})

t.test('rows without columns', async (t) => {
  await same(t, '/bare', ndjson, 'select * from bare')
  await same(t, '/bare', csv, 'select * from bare')
})

t.test('exports and encoded rows at the same time', async (t) => {
  const query = 'select * from lines order by id'
  const wanted = new Map(
    await Promise.all([ndjson, csv].map(async (accept) => [accept, await expected(accept, query, 'id,text')] as const)),
  )
  const page = '/lines?order=id&limit=20&select=id,text'
  const first = await (await ask(page, 'application/json')).text()
  await Promise.all(
    Array.from({ length: 6 }, async (_, index) => {
      for (let time = 0; time < 8; time++) {
        if (index > 2) t.ok((await (await ask(page, 'application/json')).text()) === first)
        else {
          const accept = index === 0 ? csv : ndjson
          t.ok((await (await ask('/lines?order=id', accept)).text()) === wanted.get(accept), accept)
        }
      }
    }),
  )
})

t.test('a connection that ends before the first row was sent', async (t) => {
  for (const accept of [ndjson, csv]) {
    const asked = ask('/rpc/waiting_rows', accept, { Prefer: 'stream=rows' }).then(
      async (response) => [response.status, await response.text().catch(() => 'broken off')] as const,
    )
    const ended = await until(async () => {
      const { rows } = await fixture.query(
        `select pg_terminate_backend(pid) from pg_stat_activity
         where datname = current_database() and wait_event = 'PgSleep' and query like '%waiting_rows%'`,
      )
      return rows.length === 1
    })
    t.ok(ended)
    const [status, text] = await asked
    t.ok(status >= 500 || text === 'broken off', `${accept}: ${status} ${text}`)
    t.equal((await ask('/said', accept)).status, 200)
  }
})
