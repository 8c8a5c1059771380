// Measures the time of a valuation with a million reports, and prints its plan: npm run bench:valuation
//
// Uses a database created and dropped on the server of DATABASE_URL (as a superuser), or on a server that is
// started for the run. REPORTS sets another number of reports.
import { randomBytes } from 'node:crypto'
import pg from 'pg'
import { migrate } from '../../server/postgres/migrate.ts'
import { readCluster, startCluster, stopCluster, uriOf } from '../support/cluster.ts'

const total = Number(process.env.REPORTS ?? 1_000_000)
const calls = 400
const dealer = '00000000-0000-4000-8000-000000000001'
const somebody = '00000000-0000-4000-8000-000000000002'

/** A twentieth are on one model, of which one dealer owns half; the others get rarer from model to model. */
const generate = `
  set session_replication_role = replica;
  insert into auth.users (id, email, encrypted_password)
  select ('00000000-0000-4000-8000-' || lpad(to_hex(n), 12, '0'))::uuid, 'user' || n || '@example.org', 'x'
  from generate_series(1, 20000) n;
  insert into public.profiles (id) select id from auth.users;
  insert into public.reports (user_id, manufacturer, model, year, mileage, price, lat, lng, status, created_at)
  select
    case
      when n % 40 = 0 then '${dealer}'
      else ('00000000-0000-4000-8000-' || lpad(to_hex(2 + n % 19999), 12, '0'))::uuid
    end,
    case when n % 20 = 0 then 'Volkswagen' else 'Maker ' || rank end,
    case when n % 20 = 0 then 'Golf' else 'Model ' || rank end,
    year, mileage, round((3000 + 25000 * exp(-age / 6.0) * (0.7 + 0.6 * random()))::numeric, 2),
    35 + 25 * random(), -10 + 40 * random(),
    case when n % 20 = 0 or random() < 0.8 then 'approved' else 'pending' end,
    now() - random() * interval '3 years'
  from (
    select n, 2026 - age as year, age, 1 + floor(3000 * random() ^ 3) as rank,
      round((age * 14000 * (0.4 + 1.2 * random()))::numeric) as mileage
    from (select n, floor(35 * random() ^ 1.5)::int as age from generate_series(1, ${total}) n) as aged
  ) as made;
  set session_replication_role = origin;
  analyze public.reports;`

type Case = { readonly label: string; readonly user: string; readonly vehicle: () => readonly unknown[] }

const around = (low: number, high: number): number => low + Math.random() * (high - low)
const vehicle = (maker: string, model: string) => (): readonly unknown[] => {
  const age = Math.floor(around(0, 30))
  return [maker, model, 2026 - age, Math.round(age * around(8000, 20000)), around(36, 59), around(-9, 29)]
}
const cases: readonly Case[] = [
  { label: 'the most common model', user: somebody, vehicle: vehicle('VOLKSWAGEN', 'golf') },
  { label: 'the same, for the owner of half of its reports', user: dealer, vehicle: vehicle('VOLKSWAGEN', 'golf') },
  { label: 'a common model', user: somebody, vehicle: vehicle('maker1', 'Model  1') },
  { label: 'an average model', user: somebody, vehicle: vehicle('Maker 800', 'Model 800') },
  { label: 'a rare model', user: somebody, vehicle: vehicle('Maker 2990', 'Model 2990') },
  { label: 'a model without reports', user: somebody, vehicle: vehicle('Maker 0', 'Model 0') },
]

const statement = 'select public.estimate_report($1, $2, $3, $4, $5, $6) as valuation'

async function actAs(client: pg.Client, user: string): Promise<void> {
  await client.query("select set_config('role', 'authenticated', false), set_config('request.jwt.claims', $1, false)", [
    JSON.stringify({ sub: user, role: 'authenticated' }),
  ])
}

async function connected<T>(uri: string, use: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client({ connectionString: uri })
  await client.connect()
  try {
    return await use(client)
  } finally {
    await client.end()
  }
}

const milliseconds = (value: number | undefined): string => (value ?? 0).toFixed(2).padStart(8)

/** The first call on a new connection, which includes planning, and the times of many calls after it. */
async function measure(uri: string, { label, user, vehicle }: Case): Promise<void> {
  await connected(uri, async (client) => {
    await actAs(client, user)
    const times: number[] = []
    let valuation: unknown
    for (let call = 0; call < calls; call++) {
      const start = performance.now()
      const { rows } = await client.query<{ valuation: unknown }>({
        name: 'estimate',
        text: statement,
        values: [...vehicle()],
      })
      times.push(performance.now() - start)
      valuation = rows[0]?.valuation
    }
    const [first, ...rest] = times
    rest.sort((a, b) => a - b)
    const at = (share: number): string => milliseconds(rest[Math.floor(share * (rest.length - 1))])
    console.log(
      `${label.padEnd(36)} ${milliseconds(first)} ${at(0.5)} ${at(0.95)} ${at(1)}   ${JSON.stringify(valuation)}`,
    )
  })
}

/** The plan of the statement inside the function, as executed by the server. */
async function showPlan(uri: string): Promise<void> {
  await connected(uri, async (client) => {
    const plans: string[] = []
    client.on('notice', ({ message = '' }) => plans.push(message))
    await client.query(`
      load 'auto_explain';
      set auto_explain.log_min_duration = 0; set auto_explain.log_nested_statements = on;
      set auto_explain.log_analyze = on; set auto_explain.log_buffers = on; set auto_explain.log_timing = off;
      set client_min_messages = log`)
    await client.query("select set_config('request.jwt.claims', $1, false)", [JSON.stringify({ sub: somebody })])
    await client.query(statement, ['Volkswagen', 'Golf', 2018, 90_000, 48.1, 11.6])
    console.log(plans.filter((plan) => plan.includes('reports_comparable_idx')).join('\n\n'))
  })
}

async function main(): Promise<void> {
  const given = process.env.DATABASE_URL
  if (given === undefined) await startCluster()
  const admin = given ?? uriOf((await readCluster()).port, 'postgres')
  const name = `bench_${randomBytes(4).toString('hex')}`
  const uri = new URL(admin)
  uri.pathname = `/${name}`
  try {
    await connected(admin, (client) => client.query(`create database ${name}`))
    await connected(uri.href, async (client) => {
      await migrate(client)
      const start = performance.now()
      await client.query(generate)
      await client.query('vacuum analyze public.reports')
      const { rows } = await client.query<Record<string, unknown>>(`
        select version(), count(*)::int as reports, count(*) filter (where status = 'approved')::int as approved,
          count(*) filter (where model = 'Golf')::int as golfs,
          pg_size_pretty(pg_relation_size('public.reports')) as table_size,
          pg_size_pretty(pg_relation_size('public.reports_comparable_idx')) as index_size
        from public.reports`)
      console.log(rows[0], `made in ${Math.round((performance.now() - start) / 1000)} s\n`)
    })
    await showPlan(uri.href)
    console.log(
      `\n${'milliseconds'.padEnd(36)}    first   median      95%      max   (of ${calls} calls; the last answer)`,
    )
    for (const it of cases) await measure(uri.href, it)
  } finally {
    await connected(admin, (client) => client.query(`drop database if exists ${name} with (force)`))
    if (given === undefined) await stopCluster()
  }
}

await main()
