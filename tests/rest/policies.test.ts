// Access rights in SQL: every table, every command, every kind of caller.
import pg from 'pg'
import t from 'tap'
import { createMigratedDatabase } from '../support/database.ts'

const database = await createMigratedDatabase()
const ann = '00000000-0000-4000-8000-00000000000a'
const bob = '00000000-0000-4000-8000-00000000000b'
const newcomer = '00000000-0000-4000-8000-00000000000c'
await database.query(`
  insert into auth.users (id, email, encrypted_password) values ('${ann}', 'ann@example.org', 'x'), ('${bob}', 'bob@example.org', 'x');
  insert into public.classification_runs (id, user_id, image_uri, image_source, result_label, confidence, is_positive)
  values ('${ann}', '${ann}', 'file:a', 'camera', 'l', 1, true), ('${bob}', '${bob}', 'file:a', 'camera', 'l', 1, true);
  insert into public.reports (id, user_id, manufacturer, model, year, mileage, price, lat, lng)
  values ('${ann}', '${ann}', 'Opel', 'Corsa', 2001, 1, 1, 1, 1), ('${bob}', '${bob}', 'Opel', 'Corsa', 2001, 1, 1, 1, 1);
  insert into auth.sessions (id, id_hash, user_id, not_after)
  values (gen_random_uuid(), sha256('a'), '${ann}', now() + interval '1 day');
  insert into auth.api_keys (key_hash, hint, label, role) values (sha256('a'), 'sb_', 'l', 'anon');
`)

const client = new pg.Client({ connectionString: database.authenticatorUri })
await client.connect()
t.teardown(async () => {
  await client.end()
  await database.drop()
})

type Caller = { readonly role: string | null; readonly claims: Readonly<Record<string, unknown>> | string }

const callers = {
  ann: { role: 'authenticated', claims: { sub: ann, role: 'authenticated' } },
  bob: { role: 'authenticated', claims: { sub: bob, role: 'authenticated' } },
  newcomer: { role: 'authenticated', claims: { sub: newcomer } },
  'a foreign subject': { role: 'authenticated', claims: { sub: 'auth0|ann' } },
  'no subject': { role: 'authenticated', claims: {} },
  'no claims': { role: 'authenticated', claims: '' },
  'claims that are a list': { role: 'authenticated', claims: '["sub"]' },
  anon: { role: 'anon', claims: { role: 'anon' } },
  'anon with a subject': { role: 'anon', claims: { sub: ann } },
  service: { role: 'service_role', claims: { role: 'service_role' } },
  'the login role': { role: null, claims: {} },
} satisfies Record<string, Caller>
type CallerName = keyof typeof callers

/** Runs one statement as the caller and rolls it back. Returns the number of rows, or the SQLSTATE. */
async function outcome(caller: CallerName, sql: string): Promise<number | string> {
  const { role, claims }: Caller = callers[caller]
  await client.query('begin')
  try {
    if (role !== null) await client.query("select set_config('role', $1, true)", [role])
    const text = typeof claims === 'string' ? claims : JSON.stringify(claims)
    await client.query("select set_config('request.jwt.claims', $1, true)", [text])
    return (await client.query(sql)).rowCount ?? 0
  } catch (error) {
    return (error as pg.DatabaseError).code ?? String(error)
  } finally {
    await client.query('rollback')
  }
}

const run = 'image_uri, image_source, result_label, confidence, is_positive'
const runValues = "'file:a', 'camera', 'l', 1, true"
const report = 'manufacturer, model, year, mileage, price, lat, lng'
const reportValues = "'Opel', 'Corsa', 2001, 1, 1, 1, 1"

/** Each statement concerns Ann's row. */
const statements = {
  profiles: {
    select: `select from profiles where id = '${ann}'`,
    'select all': 'select * from profiles',
    update: `update profiles set full_name = 'x' where id = '${ann}'`,
    'update all': "update profiles set full_name = 'x'",
    delete: `delete from profiles where id = '${ann}'`,
    'delete all': 'delete from profiles',
  },
  classification_runs: {
    insert: `insert into classification_runs (${run}) values (${runValues})`,
    'insert for Ann': `insert into classification_runs (user_id, ${run}) values ('${ann}', ${runValues})`,
    select: `select from classification_runs where id = '${ann}'`,
    'select all': 'select * from classification_runs',
    update: `update classification_runs set result_label = 'x' where id = '${ann}'`,
    'update all': "update classification_runs set result_label = 'x'",
    delete: `delete from classification_runs where id = '${ann}'`,
    'delete all': 'delete from classification_runs',
  },
  reports: {
    insert: `insert into reports (${report}) values (${reportValues})`,
    'insert for Ann': `insert into reports (user_id, ${report}) values ('${ann}', ${reportValues})`,
    select: `select from reports where id = '${ann}'`,
    'select all': 'select * from reports',
    update: `update reports set model = 'x' where id = '${ann}'`,
    'update all': "update reports set model = 'x'",
    delete: `delete from reports where id = '${ann}'`,
    'delete all': 'delete from reports',
  },
}

const denied = '42501'
const nothing = {
  insert: denied,
  'insert for Ann': denied,
  select: 0,
  'select all': 0,
  update: 0,
  'update all': 0,
  delete: 0,
  'delete all': 0,
}
const refused = {
  insert: denied,
  'insert for Ann': denied,
  select: denied,
  'select all': denied,
  update: denied,
  'update all': denied,
  delete: denied,
  'delete all': denied,
}
const own = { insert: 1, 'select all': 1, 'update all': 1, 'delete all': 1 }

const expected: Record<CallerName, Record<keyof typeof nothing, number | string>> = {
  ann: { ...own, 'insert for Ann': 1, select: 1, update: 1, delete: 1 },
  bob: { ...nothing, ...own },
  // Passes the policy, but has no profile for the row to refer to.
  newcomer: { ...nothing, insert: '23503' },
  'a foreign subject': nothing,
  'no subject': nothing,
  'no claims': nothing,
  'claims that are a list': nothing,
  anon: refused,
  'anon with a subject': refused,
  service: {
    // The caller has no user id, and the row must have an owner.
    insert: '23502',
    'insert for Ann': 1,
    select: 1,
    'select all': 2,
    update: 1,
    'update all': 2,
    delete: 1,
    'delete all': 2,
  },
  'the login role': refused,
}

for (const [table, commands] of Object.entries(statements)) {
  t.test(table, async (t) => {
    for (const caller of Object.keys(expected) as CallerName[]) {
      const found: Record<string, number | string> = {}
      const wanted: Record<string, number | string> = {}
      for (const [command, sql] of Object.entries(commands)) {
        found[command] = await outcome(caller, sql)
        wanted[command] = expected[caller][command as keyof typeof nothing]
      }
      t.strictSame(found, wanted, caller)
    }
  })
}

t.test('columns and rows that a caller may not write', async (t) => {
  const rows: readonly (readonly [CallerName, string, number | string])[] = [
    ['newcomer', "insert into profiles (full_name) values ('New')", 1],
    ['newcomer', `insert into profiles (id) values ('${newcomer}')`, 1],
    ['newcomer', `insert into profiles (id) values ('${ann}')`, denied],
    ['ann', `update profiles set id = '${ann}'`, 1],
    ['ann', "insert into profiles (full_name) values ('Again')", '23505'],
    ['no subject', "insert into profiles (full_name) values ('Nobody')", denied],
    ['a foreign subject', "insert into profiles (full_name) values ('Nobody')", denied],
    ['anon', "insert into profiles (full_name) values ('Nobody')", denied],
    ['service', `insert into profiles (id) values ('${newcomer}')`, 1],
    ['ann', `update profiles set id = '${newcomer}'`, denied],
    ['ann', 'update profiles set created_at = now()', denied],
    ['ann', 'update profiles set updated_at = now()', denied],
    ['ann', `insert into classification_runs (id, ${run}) values ('${newcomer}', ${runValues})`, 1],
    ['ann', `insert into classification_runs (id, ${run}) values ('${bob}', ${runValues})`, '23505'],
    ['ann', `insert into classification_runs (created_at, ${run}) values (now(), ${runValues})`, 1],
    ['ann', `insert into classification_runs (updated_at, ${run}) values (now(), ${runValues})`, denied],
    ['ann', `insert into classification_runs (user_id, ${run}) values ('${bob}', ${runValues})`, denied],
    ['ann', `update classification_runs set user_id = '${bob}'`, denied],
    ['ann', `update classification_runs set user_id = '${ann}'`, 1],
    ['ann', 'update classification_runs set user_id = null', denied],
    ['ann', `update classification_runs set id = '${newcomer}'`, 1],
    ['ann', 'update classification_runs set created_at = now()', 1],
    ['ann', 'update classification_runs set updated_at = now()', denied],
    ['ann', `insert into reports (id, ${report}) values ('${newcomer}', ${reportValues})`, denied],
    ['ann', `insert into reports (created_at, ${report}) values (now(), ${reportValues})`, denied],
    ['ann', `insert into reports (user_id, ${report}) values ('${bob}', ${reportValues})`, denied],
    ['ann', `update reports set user_id = '${bob}'`, denied],
    ['ann', 'update reports set created_at = now()', denied],
    ['ann', `insert into reports (status, ${report}) values ('approved', ${reportValues})`, denied],
    ['ann', `insert into reports (status, ${report}) values ('pending', ${reportValues})`, denied],
    ['ann', "update reports set status = 'approved'", denied],
    ['ann', 'truncate reports', denied],
    ['service', "update reports set status = 'approved'", 2],
    ['service', "update reports set status = 'sold'", '23514'],
    ['service', `update classification_runs set user_id = '${bob}'`, 2],
    ['service', 'truncate reports', denied],
  ]
  for (const [caller, sql, wanted] of rows) t.equal(await outcome(caller, sql), wanted, `${caller}: ${sql}`)
})

t.test('values that the database rejects for every caller', async (t) => {
  const year = new Date().getUTCFullYear()
  const rows: readonly (readonly [string, number | string])[] = [
    ["update classification_runs set confidence = 'NaN'", '23514'],
    ['update classification_runs set confidence = 100.01', '23514'],
    ['update classification_runs set confidence = -1', '23514'],
    ['update classification_runs set confidence = 99.123456789', 1],
    [`update reports set year = ${year + 1}`, 1],
    [`update reports set year = ${year + 2}`, '23514'],
    ['update reports set year = 1885', '23514'],
    ['update reports set mileage = 2000001', '23514'],
    ["update reports set price = 'NaN'", '23514'],
    ['update reports set price = 100000000.01', '23514'],
    ['update reports set price = 0.005', 1],
    ["update reports set lat = 'NaN'", '23514'],
    ['update reports set lng = -180.5', '23514'],
    ["update reports set model = ' x'", '23514'],
    ["update reports set model = ''", '23514'],
  ]
  for (const [sql, wanted] of rows) t.equal(await outcome('ann', sql), wanted, sql)
})

t.test('the API roles have no access to accounts, sessions and keys', async (t) => {
  for (const table of ['auth.users', 'auth.sessions', 'auth.api_keys', 'rowhouse.migrations']) {
    for (const caller of ['ann', 'anon', 'service', 'the login role'] as const) {
      for (const sql of [`select from ${table}`, `delete from ${table}`, `insert into ${table} default values`]) {
        t.equal(await outcome(caller, sql), denied, `${caller}: ${sql}`)
      }
    }
  }
})

t.test('messages of realtime: without policies, only the service has access', async (t) => {
  const messages = {
    select: 'select from realtime.messages',
    insert: "insert into realtime.messages (topic, extension) values ('a', 'broadcast')",
    update: "update realtime.messages set topic = 'b'",
    delete: 'delete from realtime.messages',
  }
  await database.query(messages.insert)
  const none = { select: 0, insert: denied, update: 0, delete: denied }
  const rows: Readonly<Partial<Record<CallerName, Readonly<Record<keyof typeof messages, number | string>>>>> = {
    ann: none,
    anon: none,
    service: { select: 1, insert: 1, update: 1, delete: denied },
    'the login role': { select: denied, insert: denied, update: denied, delete: denied },
  }
  for (const [caller, wanted] of Object.entries(rows)) {
    for (const [name, sql] of Object.entries(messages)) {
      t.equal(await outcome(caller as CallerName, sql), wanted[name as keyof typeof messages], `${caller}: ${sql}`)
    }
  }
})

t.test('privileges on functions', async (t) => {
  const { rows } = await database.query(`
    select oid::regprocedure::text as name,
      array(
        select role from unnest(array['public', 'anon', 'authenticated', 'service_role', 'authenticator']) as role
        where case role
          when 'public' then coalesce(proacl, acldefault('f', proowner))::text like any (array['{=X%', '%,=X%'])
          else has_function_privilege(role, pg_proc.oid, 'execute')
        end
      ) as roles
    from pg_proc where pronamespace::regnamespace::text in ('auth', 'realtime', 'rowhouse') order by 1`)
  const used = rows.filter(({ roles }) => (roles as string[]).length > 0)
  const api = ['anon', 'authenticated', 'service_role']
  t.strictSame(Object.fromEntries(used.map(({ name, roles }) => [name, roles])), {
    'auth.add_cookie(uuid,uuid,bytea,json)': ['authenticator'],
    'auth.change_user(uuid,text,text,text,uuid,text,boolean)': ['authenticator'],
    'auth.create_session(uuid,text,bytea,interval,text,text)': ['authenticator'],
    'auth.check_session(uuid,uuid,text)': ['authenticator'],
    'auth.confirm_unproven(uuid)': ['authenticator'],
    'auth.create_user(text,text,text,text,text,uuid,text,text,boolean)': ['authenticator'],
    'auth.delete_user(uuid,text,text,uuid)': ['authenticator'],
    'auth.email()': api,
    'auth.extend_session(bytea,interval,interval)': ['authenticator'],
    'auth.find_api_key(bytea)': ['authenticator'],
    'auth.find_password(uuid)': ['authenticator'],
    'auth.find_session(bytea,json)': ['authenticator'],
    'auth.session_claims(bytea,double precision,json)': ['authenticator'],
    'auth.find_user(text)': ['authenticator'],
    'auth.is_admin()': api,
    'auth.jwt()': api,
    'auth.list_sessions(uuid,json)': ['authenticator'],
    'auth.note_use(bytea)': ['authenticator'],
    'auth.rehash_password(uuid,text,text)': ['authenticator'],
    'auth.revoke_own_sessions(uuid,uuid,uuid)': ['authenticator'],
    'auth.revoke_session(bytea,text)': ['authenticator'],
    'auth.revoke_sessions(uuid,uuid,uuid)': ['authenticator'],
    'auth.role()': api,
    'auth.uid()': api,
    'realtime.broadcast_changes(text,text,text,text,text,record,record,text)': api,
    'realtime.send(jsonb,text,text,boolean)': api,
    'realtime.send_binary(bytea,text,text,boolean)': api,
    'realtime.topic()': api,
    'rowhouse.call_figures()': ['authenticator'],
    'rowhouse.claim_calls(text,integer,bigint,integer,uuid[])': ['authenticator'],
    'rowhouse.finish_calls(text,jsonb)': ['authenticator'],
    'rowhouse.has_jobs()': ['authenticator'],
    'rowhouse.has_own_schedules()': ['authenticator'],
    'rowhouse.list_schedule_runs(bigint,bigint,integer,text)': ['authenticator'],
    'rowhouse.list_schedules(text)': ['authenticator'],
    'rowhouse.next_call_in()': ['authenticator'],
    'rowhouse.remove_old_calls(integer,integer,integer)': ['authenticator'],
    'rowhouse.remove_old_runs(interval)': ['authenticator'],
    'rowhouse.request_run(bigint)': ['authenticator'],
    'rowhouse.resend_call(uuid)': ['authenticator'],
    'rowhouse.run_finished(bigint,text,text)': ['authenticator'],
    'rowhouse.run_started(bigint,integer)': ['authenticator'],
    'rowhouse.start_runs(text,text,integer,bigint[],timestamp with time zone)': ['authenticator'],
    'rowhouse.claim_idempotency_key(bytea,text)': ['authenticator'],
    'rowhouse.keep_realtime_partitions()': ['authenticator'],
    'rowhouse.pending_reports(integer,timestamp with time zone,uuid)': ['authenticated', 'service_role'],
    'rowhouse.review_report(uuid,boolean)': ['authenticated', 'service_role'],
    'rowhouse.store_response(bytea,text,bytea,smallint,text,json,bytea)': ['authenticator'],
    'rowhouse.valuation(text,text,integer,integer,double precision,double precision,uuid)': [
      'authenticated',
      'service_role',
    ],
    'rowhouse.vehicle_key(text,text)': ['authenticated', 'service_role'],
  })
  for (const caller of ['ann', 'anon', 'service'] as const) {
    t.equal(await outcome(caller, "select auth.find_user('ann@example.org')"), denied, caller)
  }
  t.equal(await outcome('the login role', "select from auth.find_user('ANN@example.org')"), 1)
})

t.test('security definer functions have a fixed search_path', async (t) => {
  const { rows } = await database.query(`
    select proname::text as name, array_to_string(proconfig, ' ') as settings from pg_proc
    where prosecdef and pronamespace::regnamespace::text not in ('pg_catalog', 'information_schema') order by 1`)
  t.ok(rows.length > 20)
  for (const { name, settings } of rows) t.match(settings, /^search_path=pg_catalog, pg_temp( |$)/, String(name))
})

t.test('every table with data has row-level security', async (t) => {
  const { rows } = await database.query(`
    select oid::regclass::text as name from pg_class
    where relkind in ('r', 'p') and not relrowsecurity
      and relnamespace::regnamespace::text in ('public', 'auth', 'realtime')`)
  t.strictSame(rows, [])
})

t.test('auth functions read the claims', async (t) => {
  const rows: readonly (readonly [string, unknown])[] = [
    [`{"sub":"${ann}","role":"r","email":"e"}`, { uid: ann, role: 'r', email: 'e' }],
    [`{"sub":"${ann.toUpperCase()}"}`, { uid: ann, role: null, email: null }],
    ['{"sub":"not a uuid"}', { uid: null, role: null, email: null }],
    [`{"sub":"${ann.replaceAll('-', '')}"}`, { uid: null, role: null, email: null }],
    [`{"sub":"${ann.slice(0, 35)}-"}`, { uid: null, role: null, email: null }],
    [`{"sub":"${ann.slice(0, 35)}g"}`, { uid: null, role: null, email: null }],
    [`{"sub":"{${ann}}"}`, { uid: null, role: null, email: null }],
    ['{"sub":"------------------------------------"}', { uid: null, role: null, email: null }],
    ['{"sub":null}', { uid: null, role: null, email: null }],
    [`{"sub":"${ann}\\n"}`, { uid: null, role: null, email: null }],
    ['{"sub":{"a":1}}', { uid: null, role: null, email: null }],
    ['', { uid: null, role: null, email: null }],
  ]
  for (const [claims, wanted] of rows) {
    await client.query('begin; set local role anon')
    await client.query("select set_config('request.jwt.claims', $1, true)", [claims])
    const found = await client.query('select auth.uid() as uid, auth.role() as role, auth.email() as email')
    await client.query('rollback')
    t.strictSame(found.rows, [wanted], claims)
  }
})

t.test('a profile is created and deleted with its account, and its rows with it', async (t) => {
  const id = '00000000-0000-4000-8000-00000000000d'
  await database.query("insert into auth.users (id, email, encrypted_password) values ($1, 'd@example.org', 'x')", [id])
  t.equal((await database.query('select from public.profiles where id = $1', [id])).rowCount, 1)
  await database.query(`insert into public.reports (user_id, ${report}) values ($1, ${reportValues})`, [id])
  await database.query('delete from auth.users where id = $1', [id])
  t.equal((await database.query('select from public.profiles where id = $1', [id])).rowCount, 0)
  t.equal((await database.query('select from public.reports where user_id = $1', [id])).rowCount, 0)
})

t.test('updated_at is set by every change', async (t) => {
  for (const table of ['public.profiles', 'public.classification_runs', 'public.reports']) {
    await database.query(`update ${table} set created_at = '2000-01-01'`)
    const { rows } = await database.query(
      `update ${table} set updated_at = '2000-01-01' returning updated_at = now() as now`,
    )
    t.ok(rows.length > 0 && rows.every(({ now }) => now === true), table)
  }
})

t.test('the newest rows of a caller are read from the index, and auth.uid() is called once', async (t) => {
  for (const table of ['classification_runs', 'reports']) {
    await client.query(
      'begin; set local role authenticated; set local enable_seqscan = off; set local enable_sort = off',
    )
    await client.query("select set_config('request.jwt.claims', $1, true)", [JSON.stringify({ sub: ann })])
    const { rows } = await client.query<{ 'QUERY PLAN': string }>(
      `explain select * from ${table} order by created_at desc, id desc limit 20`,
    )
    await client.query('rollback')
    const plan = rows.map((row) => row['QUERY PLAN']).join('\n')
    t.match(plan, `Index Scan using ${table}_newest_idx`, plan)
    // Before PostgreSQL 17, plans name the value of an InitPlan by a number.
    t.match(plan, /Index Cond: \(user_id = (\(?.*InitPlan|\$0)/, plan)
  }
})
