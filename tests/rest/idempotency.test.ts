// Requests with an Idempotency-Key take effect once, whoever repeats them and whatever fails in between.
import { createHmac } from 'node:crypto'
import { createClient } from '@supabase/supabase-js'
import t from 'tap'
import { jwtSecret, startApplication } from '../support/application.ts'
import type { Answer } from '../support/call.ts'
import { createMigratedDatabase, withClient } from '../support/database.ts'
import { runSection, sectionFunction } from '../support/readme-section.ts'
import { fault } from '../support/request-table.ts'
import { countRoundTrips } from '../support/round-trips.ts'
import { signToken } from '../support/token.ts'

const database = await createMigratedDatabase()
t.teardown(() => database.drop())
await database.query(`
  create table public.payments (id int generated always as identity primary key, owner text default (
    current_setting('request.jwt.claims')::json->>'sub'), amount int check (amount > 0), note text);
  alter table public.payments enable row level security;
  create policy own on public.payments to authenticated
    using (owner = current_setting('request.jwt.claims')::json->>'sub')
    with check (owner = current_setting('request.jwt.claims')::json->>'sub');
  create policy all_of_them on public.payments to anon using (true) with check (true);
  grant select, insert, update on public.payments to anon, authenticated;
  create function public.pay(amount int) returns setof public.payments language sql as
    $$ insert into public.payments (amount) values (pay.amount) returning * $$;
  create function public.price(amount int) returns int stable language sql as $$ select pay.amount * 2 from (select amount) pay $$;
  create function public.pay_slowly(amount int) returns int language plpgsql as $$ begin
    insert into public.payments (amount) values (pay_slowly.amount);
    perform pg_advisory_xact_lock(42);
    return amount;
  end $$;
  create function public.claim_failure() returns void language plpgsql as $$ begin
    raise sqlstate 'RH208' using message = 'forged';
  end $$;
  create function public.told() returns json language plpgsql as $$ begin
    perform set_config('response.status', '202', true);
    perform set_config('response.headers', '[{"X-Told": "yes"}]', true);
    return '{"told": true}';
  end $$;
  create function public.role_for_good() returns void language plpgsql as $$ begin
    perform set_config('role', 'anon', false);
  end $$;
  create function public.read_responses() returns bigint language sql as $$ select count(*) from rowhouse.idempotent_responses $$;
  create table public.deferred (id int primary key, next int references public.deferred deferrable initially deferred);
  grant insert, select on public.deferred to anon`)
const { call, url } = await startApplication(t, database.authenticatorUri, { PGRST_DB_TX_END: 'commit-allow-override' })
const hour = 3600
const now = Math.floor(Date.now() / 1000)
const ann = await signToken({ role: 'authenticated', sub: 'ann', iat: now, exp: now + hour, tenant: 'a' })
const annLater = await signToken({ role: 'authenticated', sub: 'ann', iat: now + 1, exp: now + 2 * hour, tenant: 'a' })
const annElsewhere = await signToken({ role: 'authenticated', sub: 'ann', iat: now, exp: now + hour, tenant: 'b' })
const bob = await signToken({ role: 'authenticated', sub: 'bob', iat: now, exp: now + hour })

type More = { token?: string; key?: string; prefer?: string; headers?: Record<string, string>; method?: string }

const send = (
  path: string,
  body: unknown,
  { token, key, prefer, headers, method = 'POST' }: More = {},
): Promise<Answer> =>
  call(method, `/rest/v1${path}`, {
    body,
    headers: {
      ...(token === undefined ? {} : { Authorization: `Bearer ${token}` }),
      ...(key === undefined ? {} : { 'Idempotency-Key': key }),
      ...(prefer === undefined ? {} : { Prefer: prefer }),
      ...headers,
    },
  })

const representation = 'return=representation'
const payments = async (): Promise<number> =>
  Number((await database.query('select count(*) as n from public.payments')).rows[0]?.n)
/** How many payments `use` makes. */
async function paymentsBy(use: () => Promise<unknown>): Promise<number> {
  const before = await payments()
  await use()
  return (await payments()) - before
}
const isReplay = ({ headers }: Answer): boolean => headers.get('idempotency-replayed') === 'true'
/** What must be equal in a repeated response. */
const shown = ({ status, text, headers }: Answer) => ({
  status,
  text,
  headers: Object.fromEntries(
    [...headers].filter(([name]) => !['date', 'idempotency-replayed', 'access-control-expose-headers'].includes(name)),
  ),
})

t.test('a repeated request gets the first response, and has no further effect', async (t) => {
  const requests: readonly [title: string, path: string, body: unknown, More?][] = [
    ['one row', '/payments', { amount: 1 }],
    ['its representation', '/payments?select=id,amount', { amount: 1 }, { prefer: representation }],
    [
      'one object',
      '/payments',
      { amount: 2 },
      { prefer: representation, headers: { Accept: 'application/vnd.pgrst.object+json' } },
    ],
    ['its place', '/payments', { amount: 1 }, { prefer: 'return=headers-only' }],
    ['several rows', '/payments', [{ amount: 1 }, { amount: 2 }], { prefer: `${representation},count=exact` }],
    [
      'CSV',
      '/payments',
      'amount\n7\n',
      { headers: { 'Content-Type': 'text/csv', Accept: 'text/csv' }, prefer: representation },
    ],
    ['a function', '/rpc/pay', { amount: 3 }],
    ['a function that sets status and headers', '/rpc/told', {}],
    ['an update', '/payments?amount=eq.3', { note: 'ü 😀' }, { method: 'PATCH', prefer: representation }],
    ['an update without a representation', '/payments?amount=eq.3', { amount: 4 }, { method: 'PATCH' }],
  ]
  for (const [index, [title, path, body, more]] of requests.entries()) {
    const key = `"first ${index}"`
    const first = await send(path, body, { ...more, key, headers: { ...more?.headers, 'User-Agent': 'one' } })
    t.ok(first.status < 300, `${title}: ${first.text}`)
    t.notOk(isReplay(first))
    const made = await paymentsBy(async () => {
      const again = await send(path, body, { ...more, key, headers: { ...more?.headers, 'User-Agent': 'two' } })
      t.strictSame(shown(again), shown(first), title)
      t.ok(isReplay(again))
    })
    t.equal(made, 0, `${title}: no effect`)
  }
  const page = await send('/payments', { amount: 1 }, { key: 'first-page', headers: { Origin: 'https://example.org' } })
  const again = await send(
    '/payments',
    { amount: 1 },
    { key: 'first-page', headers: { Origin: 'https://example.org' } },
  )
  t.strictSame(shown(again), shown(page), 'from a page')
})

t.test('a key stands for one request of one caller', async (t) => {
  const first = await send('/payments', { amount: 10 }, { token: ann, key: 'k', prefer: representation })
  t.equal(first.status, 201)
  const other = {
    status: 422,
    body: fault(
      'PGRSTX91',
      'The Idempotency-Key "k" was used for another request',
      null,
      'Send a new key with each new request, and the same key only to repeat a request unchanged.',
    ),
  }
  const others: readonly [title: string, Promise<Answer>][] = [
    ['another body', send('/payments', { amount: 11 }, { token: ann, key: 'k', prefer: representation })],
    ['another query', send('/payments?select=id', { amount: 10 }, { token: ann, key: 'k', prefer: representation })],
    ['another path', send('/rpc/pay', { amount: 10 }, { token: ann, key: 'k', prefer: representation })],
    ['another preference', send('/payments', { amount: 10 }, { token: ann, key: 'k' })],
    ['another method', send('/payments?id=eq.0', { amount: 10 }, { token: ann, key: 'k', method: 'PATCH' })],
    ['other claims', send('/payments', { amount: 10 }, { token: annElsewhere, key: 'k', prefer: representation })],
  ]
  for (const [title, answer] of others) t.match(await answer, other, title)
  const renewed = await send('/payments', { amount: 10 }, { token: annLater, key: '"k"', prefer: representation })
  t.ok(isReplay(renewed), 'a renewed token, and the key in quotes')
  t.equal(renewed.text, first.text)
  const bobs = await send('/payments', { amount: 10 }, { token: bob, key: 'k', prefer: representation })
  t.match(bobs, { status: 201, body: [{ owner: 'bob' }] }, 'the key of another user is another key')
  const anonymous = await send('/payments', { amount: 10 }, { key: 'k', prefer: representation })
  t.match(anonymous, { status: 201, body: [{ owner: null }] })
  const without = await send('/payments', { amount: 10 }, { token: ann, prefer: representation })
  t.notSame(without.body, first.body, 'without the key it is a new request')
})

/** A token with a payload that `JSON.stringify` could not write. */
function signText(payload: string): string {
  const input = [JSON.stringify({ alg: 'HS256' }), payload].map((it) => Buffer.from(it).toString('base64url')).join('.')
  return `${input}.${createHmac('sha256', jwtSecret).update(input).digest('base64url')}`
}

t.test('callers are told apart by the exact text of their claims', async (t) => {
  const id = (digits: string, more = '') =>
    signText(`{"role":"authenticated","sub":${digits}${more},"exp":${now + hour}}`)
  const owner = (digits: string) => ({ status: 201, body: [{ owner: digits }] })
  const pay = (token: string, key: string) => send('/payments', { amount: 20 }, { token, key, prefer: representation })
  for (const digits of ['9007199254740993', '9007199254740992', '12345678901234567890', '12345678901234567891']) {
    const answer = await pay(id(digits), 'digits')
    t.match(answer, owner(digits))
    t.notOk(isReplay(answer), `${digits} is a user of its own`)
    const renewed = await pay(id(digits, `,"iat":${now}`), 'digits')
    t.ok(isReplay(renewed))
    t.match(renewed, owner(digits), 'and gets its own row again')
  }
  t.match(await pay(id('"9007199254740993"'), 'digits'), owner('9007199254740993'))
  t.match(await pay(id('"u"', ',"tenant":12345678901234567890'), 'tenant'), { status: 201 })
  t.match(await pay(id('"u"', ',"tenant":12345678901234567891'), 'tenant'), { status: 422 }, 'other claims')
  t.ok(isReplay(await pay(id('"u"', ',"tenant":12345678901234567890,"jti":1e300'), 'tenant')))

  const level = (aal: string, more: object = {}) =>
    signToken({ role: 'authenticated', sub: 'ann', iat: now, exp: now + hour, aal, ...more })
  t.match(await pay(await level('aal2'), 'level'), { status: 201 })
  t.match(await pay(await level('aal1'), 'level'), { status: 422, body: { code: 'PGRSTX91' } }, 'a lower level')
  const other = { amr: [{ method: 'totp', timestamp: now }], session_id: '00000000-0000-4000-8000-000000000000' }
  t.ok(
    isReplay(await pay(await level('aal2', { ...other, session_id: 'x' }), 'level')),
    'another session of the same level',
  )
})

t.test('a caller who may not execute the request any more gets no stored response', async (t) => {
  await database.query(`
    create table public.secrets (id int generated always as identity primary key, text text, parent_id int references public.secrets);
    create table public.secret_parts (id int primary key, secret_id int references public.secrets, text text);
    create function public.keep_secret(text text) returns setof public.secrets language sql security definer as
      $$ insert into public.secrets (text) values (keep_secret.text) returning * $$;
    create function public.strictly(text text) returns text strict immutable language sql as $$ select 'pure ' || text $$;
    create function public.noted(text text) returns text language plpgsql as $$ begin return 'noted ' || text; end $$;
    revoke execute on function public.keep_secret, public.strictly, public.noted from public;
    grant select, insert, update on public.secrets, public.secret_parts to authenticated;
    grant execute on function public.keep_secret, public.noted to authenticated;
    notify pgrst, 'reload schema'`)
  const to = { token: ann, prefer: representation }
  while ((await send('/secrets', { text: 'first' }, to)).status !== 201);
  const insert = { id: 'a', method: 'POST', url: '/secrets', headers: { Prefer: representation }, body: { text: 's' } }
  const read = { id: 'b', method: 'GET', url: '/secrets?id=eq.${a#/0/id}&select=text' }
  const parts = 'secret_parts(id,text)'
  const ways: readonly [title: string, path: string, body: unknown, revoked: readonly string[], More?][] = [
    ['insert', '/secrets', { text: 's' }, ['insert on public.secrets', 'select on public.secrets']],
    ['a column', '/secrets?select=text', { text: 's' }, ['select on public.secrets']],
    ['update', '/secrets?id=gt.0', { text: 't' }, ['update on public.secrets'], { method: 'PATCH' }],
    ['an embed', `/secrets?select=id,${parts}`, { text: 's' }, ['select on public.secret_parts']],
    ['function', '/rpc/keep_secret', { text: 's' }, ['execute on function public.keep_secret']],
    ['plpgsql', '/rpc/noted', { text: 's' }, ['execute on function public.noted']],
    ['nested', `/secrets?select=id,${parts}`, { text: 's', secret_parts: [{ id: 7, text: 'p' }] }, ['insert on public.secret_parts']],
    ['batch', '/$batch', { requests: [insert, read] }, ['insert on public.secrets', 'select on public.secrets']],
    ['batch with a function', '/$batch', { requests: [insert, { id: 'c', method: 'POST', url: '/rpc/keep_secret', body: { text: { $ref: 'a#/0/text' } } }] },
      ['execute on function public.keep_secret']],
  ] // prettier-ignore
  for (const [title, path, body, revoked, more] of ways) {
    const once = {
      ...to,
      ...(path === '/$batch' ? { prefer: 'tx=commit' } : {}),
      ...more,
      key: title.replaceAll(' ', '-'),
    }
    const first = await send(path, body, once)
    t.ok(first.status < 300, `${title}: ${first.text}`)
    t.ok(isReplay(await send(path, body, once)), title)
    for (const privilege of [...revoked, 'usage on schema public']) {
      const role = privilege.startsWith('usage') ? 'public, authenticated, anon' : 'authenticated'
      await database.query(`revoke ${privilege} from ${role}`)
      const { rows } = await database.query('select count(*) as n from public.secrets')
      const refused = await send(path, body, once)
      t.match(refused, { status: 403, body: { code: '42501' } }, `${title} without ${privilege}: ${refused.text}`)
      t.notOk(isReplay(refused))
      t.strictSame((await database.query('select count(*) as n from public.secrets')).rows, rows)
      await database.query(`grant ${privilege} to ${role}`)
    }
    const again = await send(path, body, once)
    t.strictSame(shown(again), shown(first), `${title}: with the privileges again`)
    t.ok(isReplay(again))
  }
})

t.test('responses of a limited size, and a limited number of keys for each caller', async (t) => {
  const { call: limited } = await startApplication(t, database.authenticatorUri, {
    IDEMPOTENCY_MAX_BYTES: '2kb',
    IDEMPOTENCY_MAX_KEYS: '5',
  })
  const as = async (sub: string, key: string, note: string, more: Record<string, string> = {}) =>
    limited('POST', '/rest/v1/payments', {
      body: { amount: 1, note },
      headers: {
        Authorization: `Bearer ${await signToken({ role: 'authenticated', sub })}`,
        'Idempotency-Key': key,
        Prefer: representation,
        ...more,
      },
    })
  const large = 'x'.repeat(3000)
  const first = await as('eve', 'large', large)
  t.match(first, { status: 201, body: [{ note: large }] }, 'the first response is complete')
  const made = await paymentsBy(async () => {
    const again = await as('eve', 'large', large)
    t.match(again, {
      status: 410,
      body: {
        code: 'PGRSTX93',
        message: 'The response to the request with the Idempotency-Key "large" was too large to be kept',
        details:
          /^The request has taken effect once, with status 201\. Its response had \d{4} bytes; up to 2048 are kept/,
      },
    })
    t.ok(isReplay(again))
    t.match(await as('eve', 'large', 'other'), { status: 422 }, 'the key is still that of the request')
  })
  t.equal(made, 0, 'and there is no second effect')
  const batch = {
    requests: [
      {
        id: 'a',
        method: 'POST',
        url: '/payments',
        headers: { Prefer: representation },
        body: { amount: 1, note: large },
      },
    ],
  }
  const sendBatch = async () =>
    limited('POST', '/rest/v1/$batch', {
      body: batch,
      headers: {
        Authorization: `Bearer ${await signToken({ role: 'authenticated', sub: 'eve' })}`,
        'Idempotency-Key': 'b',
      },
    })
  t.match(await sendBatch(), { status: 200 })
  t.match(await sendBatch(), { status: 410, body: { code: 'PGRSTX93' } })

  for (const key of ['2', '3', '4']) t.match(await as('eve', key, 'n'), { status: 201 })
  const before = await payments()
  const refusal = {
    status: 429,
    body: fault(
      'PGRSTX94',
      'Too many requests with an Idempotency-Key',
      'A caller may use 5 keys in 24 hours (idempotency-max-keys). Nothing was executed.',
      'Try again later, or send the request without a key.',
    ),
  }
  const refused = await as('eve', '5', 'n')
  t.match(refused, refusal)
  t.equal(refused.headers.get('retry-after'), '3600')
  t.equal(await payments(), before)
  t.ok(isReplay(await as('eve', '4', 'n')), 'what is stored can still be repeated')
  t.match(await as('mallory', '1', 'n'), { status: 201 }, 'another caller has keys of its own')
  await database.query(
    "update rowhouse.idempotent_responses set created_at = now() - interval '24 hours' where key = 'large'",
  )
  t.match(await as('eve', '5', 'n'), { status: 201 }, 'expired ones do not count')
  t.match(await as('eve', '6', 'n'), refusal)

  // A large number is estimated from a part of the keys.
  const { call: estimated } = await startApplication(t, database.authenticatorUri, { IDEMPOTENCY_MAX_KEYS: '20000' })
  const insert = async (key: string) =>
    estimated('POST', '/rest/v1/payments', {
      body: { amount: 1 },
      headers: {
        Authorization: `Bearer ${await signToken({ role: 'authenticated', sub: 'many' })}`,
        'Idempotency-Key': key,
      },
    })
  t.match(await insert('one'), { status: 201 })
  const fill = (from: number, to: number) =>
    database.query(`insert into rowhouse.idempotent_responses (caller, key, request, status, headers, body)
      select caller, 'k' || number, request, status, headers, body from rowhouse.idempotent_responses, generate_series(${from}, ${to}) number
      where caller = (select caller from rowhouse.idempotent_responses order by created_at desc limit 1) and key = 'one'`)
  await fill(1, 18_000)
  const below = await Promise.all(Array.from({ length: 40 }, (_, each) => insert(`below ${each}`.replace(' ', '-'))))
  t.ok(
    below.every(({ status }) => status === 201),
    'fewer than allowed',
  )
  await fill(18_001, 26_000)
  const above = await Promise.all(Array.from({ length: 40 }, (_, each) => insert(`above-${each}`)))
  t.ok(
    above.every(({ status }) => status === 429),
    'more than allowed',
  )
})

t.test('only what has taken effect is stored', async (t) => {
  const refused = await send('/payments', { amount: -1 }, { key: 'n' })
  t.match(refused, { status: 400, body: { code: '23514' } })
  const repeated = await send('/payments', { amount: -1 }, { key: 'n' })
  t.match(repeated, { status: 400, body: { code: '23514' } })
  t.notOk(isReplay(repeated))
  t.equal((await send('/payments', { amount: 1 }, { key: 'n' })).status, 201, 'the key is still free')
  const undone = { key: 'u', prefer: 'tx=rollback,return=representation' }
  t.equal(await paymentsBy(() => send('/payments', { amount: 1 }, undone)), 0)
  t.notOk(isReplay(await send('/payments', { amount: 1 }, undone)), 'a rolled-back request can be sent again')
  const tooMany = { key: 'm', method: 'PATCH', prefer: 'handling=strict,max-affected=1' }
  t.match(await send('/payments?amount=gt.0', { note: 'x' }, tooMany), { status: 400, body: { code: 'PGRST124' } })
  t.match(await send('/payments?amount=gt.0', { note: 'x' }, tooMany), { status: 400, body: { code: 'PGRST124' } })
  const late = { id: 1, next: 2 }
  t.match(await send('/deferred', late, { key: 'd' }), { status: 409, body: { code: '23503' } }, 'the commit fails')
  t.equal((await send('/deferred', { id: 1 }, { key: 'd' })).status, 201)
  const forged = await send('/rpc/claim_failure', {}, { key: 'f' })
  t.match(forged, { status: 400, body: { code: 'RH208', message: 'forged' } }, 'an error of a function is no refusal')
})

t.test('reads and methods that are idempotent ignore the header', async (t) => {
  for (let each = 0; each < 2; each++) {
    t.notOk(isReplay(await call('GET', '/rest/v1/payments?limit=1', { headers: { 'Idempotency-Key': 'r' } })))
    t.notOk(isReplay(await send('/rpc/price', { amount: 2 }, { key: 'r' })), 'a stable function')
    t.notOk(isReplay(await call('DELETE', '/rest/v1/payments?id=eq.0', { headers: { 'Idempotency-Key': 'r' } })))
  }
})

t.test('invalid keys', async (t) => {
  const details =
    'A key has 1 to 255 ASCII characters, in double quotes or without spaces, quotes, commas and semicolons.'
  for (const key of ['', '""', '"open', 'two words', 'a,b', '"a"; b', '"a\\b"', 'é', 'x'.repeat(256), '"a", "b"']) {
    const answer = await send('/payments', { amount: 1 }, { key })
    t.match(answer, { status: 400, body: { code: 'PGRSTX90', details } }, JSON.stringify(key))
  }
  t.equal((await send('/payments', { amount: 1 }, { key: 'x'.repeat(255) })).status, 201)
  const escaped = await send('/payments', { amount: 1 }, { key: '"a \\"b\\" \\\\"' })
  t.equal(escaped.status, 201)
})

t.test('of requests at the same time one takes effect', async (t) => {
  const answers: Answer[] = []
  const made = await paymentsBy(async () => {
    answers.push(
      ...(await Promise.all(Array.from({ length: 30 }, () => send('/payments', { amount: 1 }, { key: 'race' })))),
    )
  })
  t.equal(made, 1)
  t.equal(answers.filter((answer) => answer.status === 201 && !isReplay(answer)).length, 1)
  for (const answer of answers) t.ok(answer.status === 409 || answer.status === 201)

  await withClient(database.adminUri, async (holder) => {
    await holder.query('select pg_advisory_lock(42)')
    const slow = send('/rpc/pay_slowly', { amount: 1 }, { key: 'slow' })
    const waits = `select from pg_locks where not granted and locktype = 'advisory' and objid = 42
      and database = (select oid from pg_database where datname = current_database())`
    while ((await holder.query(waits)).rowCount === 0);
    for (const amount of [1, 2]) {
      t.match(await send('/rpc/pay_slowly', { amount }, { key: 'slow' }), {
        status: 409,
        body: fault(
          'PGRSTX92',
          'A request with the Idempotency-Key "slow" is still running',
          null,
          'Repeat the request later to get its response.',
        ),
      })
    }
    await holder.query('select pg_advisory_unlock(42)')
    t.match(await slow, { status: 200, text: '1' })
    t.ok(isReplay(await send('/rpc/pay_slowly', { amount: 1 }, { key: 'slow' })))
  })

  await withClient(database.adminUri, async (holder) => {
    await holder.query('select pg_advisory_lock(42)')
    const gone = new AbortController()
    const made = await paymentsBy(async () => {
      const left = fetch(`${url}/rest/v1/rpc/pay_slowly`, {
        method: 'POST',
        headers: { 'Content-Type': 'application/json', 'Idempotency-Key': 'left' },
        body: '{"amount":1}',
        signal: gone.signal,
      })
      const waits = `select pid from pg_locks where not granted and locktype = 'advisory' and objid = 42
        and database = (select oid from pg_database where datname = current_database())`
      while ((await holder.query(waits)).rowCount === 0);
      gone.abort()
      await t.rejects(left)
      while ((await holder.query(waits)).rowCount !== 0);
      await holder.query('select pg_advisory_unlock(42)')
      const again = await send('/rpc/pay_slowly', { amount: 1 }, { key: 'left' })
      t.equal(again.status, 200, 'the request of a client that hung up was undone, and can be sent again')
      t.notOk(isReplay(again))

      await holder.query('select pg_advisory_lock(42)')
      const killed = send('/rpc/pay_slowly', { amount: 1 }, { key: 'killed' })
      while ((await holder.query(waits)).rowCount === 0);
      await holder.query(`select pg_terminate_backend(pid) from (${waits}) as waiting`)
      t.equal((await killed).status, 503)
      await holder.query('select pg_advisory_unlock(42)')
      t.equal((await send('/rpc/pay_slowly', { amount: 1 }, { key: 'killed' })).status, 200)
    })
    t.equal(made, 2)
  })
})

t.test('a connection whose role a function has changed for good', async (t) => {
  t.equal((await send('/rpc/role_for_good', {}, { key: 'changed-role' })).status, 204)
  for (let each = 0; each < 12; each++) await send('/rpc/role_for_good', {})
  for (let each = 0; each < 12; each++) {
    t.equal((await send('/payments', { amount: 1 }, { token: ann, key: `after-${each}` })).status, 201)
    t.ok(isReplay(await send('/payments', { amount: 1 }, { token: ann, key: `after-${each}` })))
  }
})

t.test('the stored responses are for the server only', async (t) => {
  t.match(await send('/rpc/read_responses', {}), { status: 401, body: { code: '42501' } })
  t.match(await send('/rpc/read_responses', {}, { token: ann }), { status: 403, body: { code: '42501' } })
  t.match(await call('GET', '/rest/v1/idempotent_responses'), { status: 404 })
})

t.test('responses are kept for 24 hours', async (t) => {
  const once = { key: 'old', prefer: representation }
  const first = await send('/payments', { amount: 5 }, once)
  await database.query("update rowhouse.idempotent_responses set created_at = now() - interval '23 hours 59 minutes'")
  t.equal((await send('/payments', { amount: 5 }, once)).text, first.text)
  await database.query("update rowhouse.idempotent_responses set created_at = now() - interval '24 hours'")
  const { rows: old } = await database.query('select count(*)::int as n from rowhouse.idempotent_responses')
  const again = await send('/payments', { amount: 6 }, once)
  t.match(again, { status: 201, body: [{ amount: 6 }] }, 'then the key is free again, also for another request')
  const { rows: left } = await database.query('select count(*)::int as n from rowhouse.idempotent_responses')
  t.equal(Number(left[0]?.n), Number(old[0]?.n) - 10, 'and others that have expired are removed')
  t.ok(isReplay(await send('/payments', { amount: 6 }, once)))
})

t.test('an isolation level with an older snapshot', async (t) => {
  await database.query(`
    create function public.pay_isolated(amount int) returns int language sql set default_transaction_isolation = 'serializable' as
      $$ insert into public.payments (amount) values (pay_isolated.amount) returning amount $$;
    notify pgrst, 'reload schema'`)
  while ((await send('/rpc/pay_isolated', { amount: 1 })).status !== 200);
  const answers: Answer[] = []
  const made = await paymentsBy(async () => {
    for (let round = 0; round < 5; round++) {
      const same = { key: `isolated-${round}` }
      const all = Array.from({ length: 8 }, () => send('/rpc/pay_isolated', { amount: 1 }, same))
      answers.push(...(await Promise.all(all)))
      answers.push(await send('/rpc/pay_isolated', { amount: 1 }, same))
    }
  })
  t.equal(made, 5)
  t.ok(answers.every(({ status }) => status === 200 || status === 409))
})

t.test('costs one round trip more', async (t) => {
  const counter = await countRoundTrips(t, database.authenticatorUri)
  const { call: counted } = await startApplication(t, counter.uri, {
    SERVICES: 'rest',
    PGRST_DB_CHANNEL_ENABLED: 'false',
    PGRST_DB_POOL: '1',
  })
  const pay = (key: Record<string, string>) =>
    counted('POST', '/rest/v1/payments', { body: { amount: 1 }, headers: key })
  await pay({})
  await pay({ 'Idempotency-Key': 'warm' })
  counter.take()
  await pay({ 'Idempotency-Key': 'counted' })
  t.equal(counter.take(), 2)
})

t.test('the examples of the README', async (t) => {
  await database.query(`
    create table public.notes (id int generated always as identity primary key, text text);
    grant insert on public.notes to authenticated;
    notify pgrst, 'reload schema'`)
  const count = async () => Number((await database.query('select count(*) as n from public.notes')).rows[0]?.n)
  const environment = { URL: url, TOKEN: ann }
  while ((await runSection('idempotency-curl', environment)) !== '');
  await runSection('idempotency-curl', environment)
  t.equal(await count(), 1)
  const client = createClient(url, ann, {
    accessToken: () => Promise.resolve(ann),
    realtime: { transport: class {} as never },
  })
  const insert = await sectionFunction<[typeof client]>('idempotency', ['client'])
  await insert(client)
  t.equal(await count(), 2)
})
