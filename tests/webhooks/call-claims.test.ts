// How calls are claimed and finished: who may, in which order, and what becomes of them.
import t, { type Test } from 'tap'
import { uriOf } from '../support/cluster.ts'
import { createDatabase, createMigratedDatabase, withClient, type MigratedDatabase } from '../support/database.ts'

type Claimed = {
  readonly id: string
  readonly attempt: number
  readonly url: string
  readonly body: string | null
  readonly secrets: readonly string[] | null
  readonly webhook: string | null
  readonly depth: number
}
type Wish = {
  readonly holder?: string
  readonly most?: number
  readonly bytes?: number
  readonly perHost?: number
  /** Ids of the calls that the process has; by default, all that it has claimed. */
  readonly inFlight?: readonly string[]
}

/** A database of its own, whose lease `one` has. */
async function ownCalls(t: Test) {
  const database = await createMigratedDatabase()
  t.teardown(() => database.drop())
  await giveLease(database, 'one')
  const add = (sql: string): Promise<unknown> => database.query(sql)
  const claim = async ({ holder = 'one', most = 100, bytes = 1_000_000, perHost = 100, inFlight }: Wish = {}) => {
    const { rows } = await database.query(
      `select * from rowhouse.claim_calls($1, $2, $3, $4, coalesce($5, array(
         select id from rowhouse.calls as call where state = 'sending' and call.holder = $1)))`,
      [holder, most, bytes, perHost, inFlight ?? null],
    )
    return rows as unknown as Claimed[]
  }
  const finish = async (
    calls: readonly Claimed[],
    outcome: object = { state: 'delivered', status: 200 },
    holder = 'one',
  ) => {
    const outcomes = calls.map(({ id, attempt }) => ({ id, attempt, ...outcome }))
    const { rows } = await database.query('select rowhouse.finish_calls($1, $2) as count', [
      holder,
      JSON.stringify(outcomes),
    ])
    return Number(rows[0]?.count)
  }
  const states = async (): Promise<unknown> =>
    (await database.query('select state, count(*)::int from rowhouse.calls group by state order by state')).rows
  return { database, add, claim, finish, states }
}

const giveLease = (database: Pick<MigratedDatabase, 'query'>, holder: string, seconds = 3600): Promise<unknown> =>
  database.query(
    `insert into rowhouse.leases values ('calls', $1, clock_timestamp() + $2 * interval '1 second')
     on conflict (name) do update set holder = excluded.holder, until = excluded.until`,
    [holder, seconds],
  )

const urls = (calls: readonly Claimed[]): readonly string[] => calls.map(({ url }) => url.replace('http://', ''))

/** Adds calls to `http://HOST/N` in this order, with a key. */
const keyed = (key: string | null, count: number, host = 'a'): string =>
  `insert into rowhouse.calls (key, method, url, host, headers, timeout_ms, depth, retries, created_by)
   select ${key === null ? 'null' : `'${key}'`}, 'POST', 'http://${host}/' || i, '${host}', '{}', 1000, 1, true, 'x' from generate_series(1, ${count}) as i`

t.test('only the holder of the lease claims, and only once', async (t) => {
  const { database, add, claim, finish, states } = await ownCalls(t)
  await add("select net.http_get('http://a/' || i) from generate_series(1, 5) as i")
  t.strictSame(await claim({ holder: 'two' }), [])
  await giveLease(database, 'two', -1)
  t.strictSame(await claim({ holder: 'two' }), [], 'a lease that has ended')
  await giveLease(database, 'one')
  const first = await claim({ most: 3 })
  t.strictSame(urls(first), ['a/1', 'a/2', 'a/3'])
  t.match(first[0], { attempt: 1, body: null, secrets: null, depth: 1, webhook: null })
  t.strictSame(urls(await claim()), ['a/4', 'a/5'])
  t.strictSame(await claim(), [])
  t.equal(await finish(first), 3)
  t.equal(await finish(first), 0, 'finished once')
  t.strictSame(await states(), [
    { state: 'delivered', count: 3 },
    { state: 'sending', count: 2 },
  ])
  const { rows } = await database.query('select id::int, status_code, timed_out from net._http_response order by id')
  t.strictSame(
    rows,
    [1, 2, 3].map((id) => ({ id, status_code: 200, timed_out: false })),
  )
})

t.test(
  'calls of a process that has lost the lease are sent again, and its results of others are ignored',
  async (t) => {
    const { database, add, claim, finish, states } = await ownCalls(t)
    await add(keyed(null, 3))
    const first = await claim()
    await giveLease(database, 'two')
    const second = await claim({ holder: 'two', most: 2 })
    t.strictSame(
      second.map(({ id, attempt }) => ({ id, attempt })),
      first.slice(0, 2).map(({ id }) => ({ id, attempt: 2 })),
      'with the same ids',
    )
    t.equal(await finish(first), 0, 'what the first one reports late changes nothing')
    t.equal(
      await finish(
        second.map((call) => ({ ...call, attempt: 1 })),
        undefined,
        'two',
      ),
      0,
      'nor an earlier attempt',
    )
    t.equal(await finish(second, undefined, 'two'), 2)
    t.strictSame(await states(), [
      { state: 'delivered', count: 2 },
      { state: 'waiting', count: 1 },
    ])
    t.equal(await finish([], undefined, 'two'), 0)
    t.equal(await finish([{ ...second[0]!, id: 'ffffffff-ffff-4fff-8fff-ffffffffffff' }], undefined, 'two'), 0)
  },
)

t.test('what a process has delivered counts although its lease ended a moment ago', async (t) => {
  const { database, add, claim, finish } = await ownCalls(t)
  await add(keyed(null, 1))
  const calls = await claim()
  await giveLease(database, 'two')
  t.equal(await finish(calls), 1)
})

t.test('calls whose claim never arrived are sent again by the same process', async (t) => {
  const { add, claim } = await ownCalls(t)
  await add(keyed(null, 2))
  const [first, lost] = await claim()
  t.match(await claim({ inFlight: [first?.id ?? ''] }), [{ id: lost?.id, attempt: 2 }])
})

t.test('a call that ends its server again and again waits longer', async (t) => {
  const { database, add, claim } = await ownCalls(t)
  await add(keyed(null, 1))
  for (const holder of ['one', 'two', 'three']) {
    await giveLease(database, holder)
    t.equal((await claim({ holder })).length, 1)
  }
  await giveLease(database, 'four')
  t.strictSame(await claim({ holder: 'four' }), [])
  const { rows } = await database.query('select rowhouse.next_call_in() as ms')
  t.ok(Number(rows[0]?.ms) > 5000)
})

t.test('calls with the same key are sent one after the other, in their order', async (t) => {
  const { database, add, claim, finish } = await ownCalls(t)
  await add(keyed('k', 3))
  await add(keyed('l', 2, 'b'))
  await add(keyed(null, 2, 'c'))
  t.strictSame(urls(await claim({ most: 10 })).toSorted(), ['a/1', 'b/1', 'c/1', 'c/2'])
  t.strictSame(await claim(), [])
  const sending = async (): Promise<Claimed[]> =>
    (
      await database.query(
        "select id, attempts as attempt, url from rowhouse.calls where state = 'sending' and key = 'k'",
      )
    ).rows as unknown as Claimed[]
  await finish(await sending(), { state: 'waiting', pause_ms: 0, status: 500, error: 'status 500' })
  t.strictSame(urls(await claim()), ['a/1'], 'the same one again')
  await finish(await sending(), { state: 'waiting', pause_ms: 60_000, error: 'hung up' })
  t.strictSame(await claim(), [], 'and the others wait for it')
  await database.query("update rowhouse.calls set next_at = now() where key = 'k' and attempts > 0")
  await claim()
  await finish(await sending(), { state: 'dead', error: 'gave up' })
  t.strictSame(urls(await claim()), ['a/2'], 'a dead one blocks none')
  const { rows } = await database.query("select id from rowhouse.calls where state = 'dead'")
  t.strictSame((await database.query('select rowhouse.resend_call($1) as sent', [rows[0]?.id])).rows, [{ sent: true }])
  t.strictSame(await claim(), [], 'sent again, it waits for the one that is being sent')
  await finish(await sending())
  t.strictSame(urls(await claim()), ['a/1'])
  await finish(await sending())
  t.strictSame(urls(await claim()), ['a/3'])
  await finish(await sending())
  t.strictSame(await claim(), [])
})

t.test('a call that was committed late, or sent again, is never sent beside another one of its key', async (t) => {
  const { database, add, claim, finish } = await ownCalls(t)
  await add(keyed('k', 4))
  // Another one with a smaller number, for another receiver, that comes first in the order of receivers.
  const [one] = await claim()
  await database.query(
    "update rowhouse.calls set number = -1, host = 'A', url = 'http://A/late', behind = false where url = 'http://a/4'",
  )
  t.strictSame(await claim(), [])
  await finish([one!])
  t.strictSame(urls(await claim()), ['A/late'])
})

t.test('two transactions that add and finish at the same time leave no call behind for ever', async (t) => {
  const { database, add, claim, finish } = await ownCalls(t)
  await add(keyed('k', 1))
  const first = await claim()
  await withClient(database.adminUri, async (client) => {
    await client.query('begin')
    await client.query(keyed('k', 1, 'b'))
    await finish(first)
    await client.query('commit')
  })
  t.strictSame(urls(await claim()), ['b/1'])
})

t.test('where calls were deleted by hand, those behind them go on', async (t) => {
  const { database, add, claim } = await ownCalls(t)
  await add(keyed('k', 2))
  await claim()
  await claim()
  await database.query("delete from rowhouse.calls where state = 'sending'")
  t.strictSame(await claim(), [])
  await database.query('select rowhouse.remove_old_calls(60, 60, 100)')
  t.strictSame(urls(await claim()), ['a/2'])
})

t.test('one receiver does not hold up the others', async (t) => {
  const { add, claim, finish } = await ownCalls(t)
  await add(keyed(null, 50, 'slow'))
  await add(keyed(null, 3, 'quick'))
  await add(keyed(null, 3, 'zoo'))
  const first = await claim({ most: 10, perHost: 4 })
  t.strictSame(
    urls(first)
      .map((url) => url.split('/')[0])
      .toSorted(),
    ['quick', 'quick', 'quick', 'slow', 'slow', 'slow', 'slow', 'zoo', 'zoo', 'zoo'],
  )
  t.strictSame(await claim({ most: 10, perHost: 4 }), [], 'it has its most')
  await finish(first.filter(({ url }) => url.includes('slow')).slice(0, 1))
  t.strictSame(urls(await claim({ most: 10, perHost: 4 })), ['slow/5'])
})

t.test('claims that are smaller than the number of receivers serve all of them', async (t) => {
  const { add, claim, finish } = await ownCalls(t)
  for (const host of ['a', 'b', 'c', 'd', 'e']) await add(keyed(null, 10, host))
  const seen = new Set<string>()
  for (let round = 0; round < 5; round++) {
    const calls = await claim({ most: 2, perHost: 2 })
    t.equal(calls.length, 2)
    for (const url of urls(calls)) seen.add(url.split('/')[0] ?? '')
    await finish(calls)
  }
  t.equal(seen.size, 5)
})

t.test('bytes of a claim are bounded, and a single large call is claimed', async (t) => {
  const { add, claim } = await ownCalls(t)
  await add(
    "select net.http_post('http://a/' || i, jsonb_build_object('a', repeat('x', 1000 * i))) from generate_series(1, 5) as i",
  )
  t.strictSame(urls(await claim({ bytes: 10 })), ['a/1'])
  t.strictSame(urls(await claim({ bytes: 5200 })), ['a/2', 'a/3'])
  t.strictSame(urls(await claim({ bytes: 8000 })), ['a/4'])
  t.strictSame(urls(await claim({ bytes: 8000 })), ['a/5'])
})

t.test('a hundred thousand calls of one key neither take long nor hide others', { timeout: 300_000 }, async (t) => {
  const { database, add, claim, finish } = await ownCalls(t)
  await add(keyed('k', 100_000))
  await add(keyed(null, 10, 'b'))
  const started = Date.now()
  const got: string[] = []
  let claims = 0
  while (got.length < 11 && claims < 40) {
    claims++
    got.push(...urls(await claim()))
  }
  t.strictSame(got.toSorted(), ['a/1', ...Array.from({ length: 10 }, (_, index) => `b/${index + 1}`)].toSorted())
  t.comment(`${claims} claims in ${Date.now() - started} ms`)
  while ((await claim()).length === 0 && claims++ < 40);
  const sending = await database.query(
    "select id, attempts as attempt from rowhouse.calls where state = 'sending' and key = 'k'",
  )
  await finish(sending.rows as unknown as Claimed[])
  const one = Date.now()
  t.strictSame(urls(await claim()), ['a/2'])
  t.comment(`the next one in ${Date.now() - one} ms`)
})

t.test('secrets: all that are valid, the newest first', async (t) => {
  const { database, add, claim } = await ownCalls(t)
  await database.query("select rowhouse.create_webhook_secret('s'); select rowhouse.create_webhook_secret('s')")
  await database.query("select rowhouse.replace_webhook_secret('s')")
  await database.query(
    "insert into rowhouse.webhook_secrets (name, secret, expires_at) values ('s', 'whsec_' || repeat('A', 40), now() - interval '1 s')",
  )
  await add(keyed(null, 2))
  await database.query("update rowhouse.calls set secret_name = case url when 'http://a/1' then 's' else 'missing' end")
  const secrets = await database.query(
    'select secret from rowhouse.webhook_secrets where expires_at is null or expires_at > now() order by id desc',
  )
  const [first, second] = await claim()
  t.equal(first?.secrets?.length, 2)
  t.strictSame(
    first?.secrets,
    secrets.rows.map(({ secret }) => secret),
  )
  t.match(first?.secrets?.[0], /^whsec_[A-Za-z0-9+/]{43}=$/)
  t.strictSame(second?.secrets, [], 'one that is missing is not the same as none')
  await t.rejects(database.query("select rowhouse.replace_webhook_secret('other')"), {
    message: /no secret named 'other'/,
  })
  await t.rejects(database.query("insert into rowhouse.webhook_secrets (name, secret) values ('x', 'plain')"), {
    code: '23514',
  })
})

t.test('pauses, next call and figures', async (t) => {
  const { database, add, claim, finish } = await ownCalls(t)
  const next = async (): Promise<unknown> =>
    (await database.query('select rowhouse.next_call_in()::int as ms')).rows[0]?.ms
  t.equal(await next(), null)
  await add(keyed(null, 2))
  t.equal(await next(), 0)
  const [one, two] = await claim()
  t.equal(await next(), null)
  await finish([one!], {
    state: 'waiting',
    pause_ms: 60_000,
    status: 503,
    error: 'status 503',
    duration_ms: 12,
    headers: { a: 'b' },
    content_type: 'text/plain',
    response: 'no',
  })
  const ms = Number(await next())
  t.ok(ms > 55_000 && ms <= 60_000, `in ${ms} ms`)
  await finish([two!], { state: 'dead', error: 'no such host' })
  t.match((await database.query('select * from rowhouse.calls order by number')).rows, [
    {
      state: 'waiting',
      attempts: 1,
      last_status: 503,
      last_error: 'status 503',
      last_duration_ms: 12,
      response: 'no',
      response_type: 'text/plain',
      response_headers: { a: 'b' },
      finished_at: null,
    },
    { state: 'dead', last_error: 'no such host', finished_at: Date },
  ])
  t.match((await database.query('select * from rowhouse.call_figures()')).rows, [
    { waiting: '1', sending: '0', dead: '1' },
  ])
})

t.test('a trigger of others on net._http_response that fails does not stop the calls', async (t) => {
  const { database, add, claim, finish, states } = await ownCalls(t)
  await database.query(`create function broken() returns trigger language plpgsql as 'begin raise exception ''no''; end';
    create trigger broken before insert on net._http_response for each row execute function broken()`)
  await add("select net.http_get('http://a/')")
  t.equal(await finish(await claim(), { state: 'dead', status: 404, error: 'status 404' }), 1)
  t.strictSame(await states(), [{ state: 'dead', count: 1 }])
})

t.test('old calls are removed', async (t) => {
  const { database, add, claim, finish, states } = await ownCalls(t)
  await add(keyed(null, 6))
  const calls = await claim()
  await finish(calls.slice(0, 3))
  await finish(calls.slice(3, 5), { state: 'dead', error: 'x' })
  await database.query(
    "insert into net._http_response (id, created) values (1, now() - interval '7 hours'), (2, now())",
  )
  const remove = async (delivered: number, dead: number, most: number): Promise<unknown> =>
    (await database.query('select rowhouse.remove_old_calls($1, $2, $3) as count', [delivered, dead, most])).rows[0]
      ?.count
  t.equal(await remove(60, 60, 100), 0)
  await database.query(
    "update rowhouse.calls set finished_at = finished_at - interval '2 minutes' where finished_at is not null",
  )
  t.equal(await remove(60, 600, 2), 2)
  t.equal(await remove(60, 60, 100), 3)
  t.strictSame(await states(), [{ state: 'sending', count: 1 }])
  t.strictSame((await database.query('select id::int from net._http_response')).rows, [{ id: 2 }])
})

t.test('a copy of the database sends nothing that the original may have sent', async (t) => {
  const { database, add, claim, finish } = await ownCalls(t)
  await add(keyed('k', 3))
  await finish(await claim())
  await claim()
  // The connections of the pool.
  await withClient(uriOf(database.port, 'postgres'), (client) =>
    client.query('select pg_terminate_backend(pid, 5000) from pg_stat_activity where datname = $1', [database.name]),
  )
  const copy = await createDatabase(database.name)
  t.teardown(() => copy.drop())
  const claimCopy = async () =>
    (
      await copy.query(
        "select url, attempt from rowhouse.claim_calls('one', 10, 1000, 10, array(select id from rowhouse.calls where state = 'sending'))",
      )
    ).rows
  t.strictSame(await claimCopy(), [])
  t.strictSame(
    (await copy.query('select url, state, left(last_error, 39) as error from rowhouse.calls order by number')).rows.map(
      ({ url, state, error }) => [url, state, error],
    ),
    [
      ['http://a/1', 'delivered', null],
      ['http://a/2', 'dead', 'not sent: this database is a copy or wa'],
      ['http://a/3', 'dead', 'not sent: this database is a copy or wa'],
    ],
  )
  await copy.query("select net.http_get('http://new/')")
  t.strictSame(await claimCopy(), [{ url: 'http://new/', attempt: 1 }], 'what the copy itself causes is sent')
  t.strictSame(
    (
      await copy.query(
        "select count(*) filter (where rowhouse.resend_call(id))::int as sent from rowhouse.calls where state = 'dead'",
      )
    ).rows,
    [{ sent: 2 }],
  )
  t.strictSame(await claimCopy(), [{ url: 'http://a/2', attempt: 1 }])
})

t.test('adding a call wakes the process that sends', async (t) => {
  const { database } = await ownCalls(t)
  await withClient(database.authenticatorUri, async (client) => {
    const heard: string[] = []
    client.on('notification', ({ channel }) => heard.push(channel))
    await client.query('listen rowhouse_calls')
    await database.query("select net.http_get('http://a') from generate_series(1, 10)")
    await client.query('select pg_sleep(0.05)')
    t.strictSame(heard, ['rowhouse_calls'], 'once per transaction')
  })
})
