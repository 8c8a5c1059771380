// Two users and an administrator on every route of reports: at `/report` with a cookie, at `/rest/v1` with a token. Ann
// owns the report.
import t from 'tap'
import { detailsOf, signIn, signUp } from '../support/account.ts'
import { startApplication } from '../support/application.ts'
import type { Answer, Call } from '../support/call.ts'
import { createMigratedDatabase } from '../support/database.ts'
import { signToken } from '../support/token.ts'

const database = await createMigratedDatabase()
t.teardown(database.drop)
const { call } = await startApplication(t, database.authenticatorUri, { SESSION_SECRETS: 's'.repeat(32) })

await signUp(call, 'admin@example.org')
await database.query("update auth.users set app_role = 'admin'")
const sessions = {
  ann: await signUp(call, 'ann@example.org'),
  bob: await signUp(call, 'bob@example.org'),
  admin: await signIn(call, 'admin@example.org'),
}
type User = keyof typeof sessions
type Caller = User | 'anon' | 'service'

const tokens: Readonly<Record<Caller, string>> = {
  ann: await tokenOf('ann'),
  bob: await tokenOf('bob'),
  admin: await tokenOf('admin'),
  anon: await signToken({ role: 'anon' }),
  service: await signToken({ role: 'service_role' }),
}

/** The claims that the service issues. */
async function tokenOf(user: User): Promise<string> {
  return detailsOf<{ access_token: string }>(await sessions[user].call('POST', '/auth/token')).access_token
}

const rest =
  (caller: Caller): Call =>
  (method, path, more = {}) =>
    call(method, `/rest/v1${path}`, {
      ...more,
      headers: { Authorization: `Bearer ${tokens[caller]}`, ...more.headers },
    })

const report = { manufacturer: 'Opel', model: 'Corsa', year: 2001, mileage: 90_000, price: 3000, lat: 48, lng: 11 }
type Status = 'pending' | 'approved' | 'rejected'

/** Ann's only report. */
async function fresh(status: Status = 'pending'): Promise<string> {
  await database.query('delete from public.reports')
  const { id } = detailsOf<{ id: string }>(await sessions.ann.call('POST', '/report', { body: report }))
  await database.query('update public.reports set status = $1', [status])
  return id
}

async function stored(id: string): Promise<unknown> {
  const { rows } = await database.query('select price::float8, status, user_id from public.reports where id = $1', [id])
  return rows[0]
}

t.test('/report: request -> status for Ann, Bob, the administrator', async (t) => {
  const rows: readonly (readonly [
    status: Status,
    method: string,
    path: string,
    body: unknown,
    wanted: Readonly<Record<User, number>>,
  ])[] = [
    ['pending', 'GET', '', undefined, { ann: 200, bob: 200, admin: 200 }],
    ['pending', 'POST', '', report, { ann: 201, bob: 201, admin: 201 }],
    ['pending', 'GET', '/:id', undefined, { ann: 200, bob: 404, admin: 404 }],
    ['pending', 'PATCH', '/:id', { price: 1 }, { ann: 200, bob: 404, admin: 404 }],
    ['approved', 'PATCH', '/:id', { price: 1 }, { ann: 409, bob: 404, admin: 404 }],
    ['rejected', 'PATCH', '/:id', { price: 1 }, { ann: 409, bob: 404, admin: 404 }],
    ['pending', 'PATCH', '/:id', { status: 'approved' }, { ann: 400, bob: 400, admin: 400 }],
    ['pending', 'PATCH', '/:id/approval', { approved: true }, { ann: 403, bob: 403, admin: 200 }],
    ['approved', 'PATCH', '/:id/approval', { approved: false }, { ann: 403, bob: 403, admin: 200 }],
    ['pending', 'DELETE', '/:id', undefined, { ann: 200, bob: 404, admin: 404 }],
    ['approved', 'DELETE', '/:id', undefined, { ann: 200, bob: 404, admin: 404 }],
    [
      'approved',
      'GET',
      '/estimate?manufacturer=Opel&model=Corsa&year=2001&mileage=1&lat=1&lng=1',
      undefined,
      { ann: 200, bob: 200, admin: 200 },
    ],
  ]
  for (const [status, method, path, body, wanted] of rows) {
    for (const user of ['ann', 'bob', 'admin'] as const) {
      const id = await fresh(status)
      const before = await stored(id)
      const given = await sessions[user].call(method, `/report${path.replace(':id', id)}`, { body })
      const label = `${user}: ${method} ${path} of a ${status} one`
      t.equal(given.status, wanted[user], label)
      t.match(
        given.body,
        given.status < 400 ? { status: 'success' } : { status: 'fail', statusCode: given.status },
        label,
      )
      if (given.status >= 400 || method === 'GET') t.strictSame(await stored(id), before, `${label} changes nothing`)
      if (path === '' && method === 'GET') t.equal(detailsOf<unknown[]>(given).length, user === 'ann' ? 1 : 0, label)
      if (user !== 'ann' && !path.includes('approval')) t.notMatch(given.text, id, `${label} discloses nothing of it`)
    }
  }
})

/** The outcome of a response: its status, and the number of rows. */
const outcome = ({ status, body }: Answer): string =>
  Array.isArray(body) ? `${status} ${body.length}` : String(status)

const returning = { Prefer: 'return=representation' }
const estimate = 'manufacturer=Opel&model=Corsa&year=2001&mileage=1&lat=1&lng=1'

t.test('/rest/v1: request -> status and rows for every caller', async (t) => {
  type Row = readonly [
    status: Status,
    method: string,
    path: string,
    body: unknown,
    wanted: Readonly<Record<Caller, string>>,
  ]
  const nobody = { anon: '401', bob: '200 0', admin: '200 0' }
  const rows: readonly Row[] = [
    ['pending', 'GET', '/reports', undefined, { ...nobody, ann: '200 1', service: '200 1' }],
    ['approved', 'GET', '/reports?select=*,valuation', undefined, { ...nobody, ann: '200 1', service: '200 1' }],
    ['pending', 'GET', '/reports?id=eq.:id', undefined, { ...nobody, ann: '200 1', service: '200 1' }],
    [
      'pending',
      'GET',
      '/reports/:id',
      undefined,
      { anon: '401', bob: '404', admin: '404', ann: '200', service: '200' },
    ],
    [
      'pending',
      'POST',
      '/reports',
      report,
      // The row of service_role would have no owner.
      { anon: '401', ann: '201 1', bob: '201 1', admin: '201 1', service: '400' },
    ],
    [
      'pending',
      'POST',
      '/reports',
      { ...report, status: 'approved' },
      { anon: '401', ann: '403', bob: '403', admin: '403', service: '400' },
    ],
    [
      'pending',
      'POST',
      '/reports?columns=manufacturer,model,year,mileage,price,lat,lng',
      { ...report, status: 'approved' },
      { anon: '401', ann: '201 1', bob: '201 1', admin: '201 1', service: '400' },
    ],
    ['pending', 'PATCH', '/reports?id=eq.:id', { price: 1 }, { ...nobody, ann: '200 1', service: '200 1' }],
    ['approved', 'PATCH', '/reports?id=eq.:id', { price: 1 }, { ...nobody, ann: '200 0', service: '200 1' }],
    ['rejected', 'PATCH', '/reports?id=eq.:id', { price: 1 }, { ...nobody, ann: '200 0', service: '200 1' }],
    [
      'pending',
      'PATCH',
      '/reports?id=eq.:id',
      { status: 'approved' },
      { anon: '401', ann: '403', bob: '403', admin: '403', service: '200 1' },
    ],
    [
      'pending',
      'PATCH',
      '/reports?id=eq.:id',
      { status: 'pending', price: 1 },
      { anon: '401', ann: '403', bob: '403', admin: '403', service: '200 1' },
    ],
    [
      'pending',
      'PATCH',
      '/reports/:id',
      { status: 'approved' },
      { anon: '401', ann: '403', bob: '403', admin: '403', service: '200' },
    ],
    [
      'pending',
      'PATCH',
      '/reports?id=eq.:id',
      { status: 'sold' },
      { anon: '401', ann: '403', bob: '403', admin: '403', service: '400' },
    ],
    [
      'pending',
      'PUT',
      '/reports?id=eq.:id',
      { id: ':id', ...report, status: 'approved' },
      { anon: '401', ann: '403', bob: '403', admin: '403', service: '400' },
    ],
    [
      'pending',
      'POST',
      '/reports?on_conflict=id',
      { id: ':id', ...report, user_id: ':ann', status: 'approved' },
      { anon: '401', ann: '403', bob: '403', admin: '403', service: '200 1' },
    ],
    ['pending', 'DELETE', '/reports?id=eq.:id', undefined, { ...nobody, ann: '200 1', service: '200 1' }],
    ['approved', 'DELETE', '/reports?price=gte.0', undefined, { ...nobody, ann: '200 1', service: '200 1' }],
    [
      'pending',
      'POST',
      '/rpc/review_report',
      { id: ':id', approved: true },
      { anon: '401', ann: '403', bob: '403', admin: '200', service: '200' },
    ],
    [
      'pending',
      'POST',
      '/rpc/review_report',
      { id: '00000000-0000-4000-8000-000000000000', approved: true },
      { anon: '401', ann: '403', bob: '403', admin: '404', service: '404' },
    ],
    [
      'pending',
      'POST',
      '/rpc/review_report',
      { id: ':id', approved: null },
      { anon: '401', ann: '403', bob: '403', admin: '400', service: '400' },
    ],
    [
      'pending',
      'GET',
      '/rpc/review_report?id=:id&approved=true',
      undefined,
      { anon: '401', ann: '403', bob: '403', admin: '405', service: '405' },
    ],
    [
      'pending',
      'GET',
      '/rpc/pending_reports',
      undefined,
      { anon: '401', ann: '403', bob: '403', admin: '200 1', service: '200 1' },
    ],
    [
      'approved',
      'GET',
      '/rpc/pending_reports',
      undefined,
      { anon: '401', ann: '403', bob: '403', admin: '200 0', service: '200 0' },
    ],
    [
      'approved',
      'GET',
      `/rpc/estimate_report?${estimate}`,
      undefined,
      { anon: '401', ann: '200', bob: '200', admin: '200', service: '200' },
    ],
    [
      'approved',
      'GET',
      `/rpc/estimate_report?${estimate.replace('2001', '1')}`,
      undefined,
      { anon: '401', ann: '400', bob: '400', admin: '400', service: '400' },
    ],
    ...['valuation', 'vehicle_key', 'set_updated_at'].map((name): Row => [
      'approved',
      'POST',
      `/rpc/${name}`,
      { manufacturer: 'a', model: 'b' },
      { anon: '404', ann: '404', bob: '404', admin: '404', service: '404' },
    ]),
    ...['users', 'sessions', 'buckets', 'migrations'].map((name): Row => [
      'approved',
      'GET',
      `/${name}`,
      undefined,
      { anon: '404', ann: '404', bob: '404', admin: '404', service: '404' },
    ]),
  ]
  for (const [status, method, path, body, wanted] of rows) {
    const found: Record<string, string> = {}
    for (const caller of Object.keys(wanted) as Caller[]) {
      const id = await fresh(status)
      const text = JSON.stringify(body ?? null)
        .replace(':id', id)
        .replace(':ann', sessions.ann.id)
      const before = await stored(id)
      const given = await rest(caller)(method, path.replace(':id', id), {
        headers: path.includes('on_conflict')
          ? { Prefer: 'return=representation,resolution=merge-duplicates' }
          : returning,
        ...(body === undefined ? {} : { body: text }),
      })
      found[caller] = outcome(given)
      if (given.status >= 400) t.strictSame(await stored(id), before, `${caller}: ${method} ${path}`)
      const after = (await stored(id)) as { status: Status } | undefined
      const mayReview = caller === 'service' || (caller === 'admin' && path.startsWith('/rpc/review_report'))
      if (!mayReview) t.equal(after?.status ?? status, status, `${caller} cannot set the status: ${method} ${path}`)
    }
    t.strictSame(found, wanted, `${method} ${path} of a report that is ${status} ${JSON.stringify(body) ?? ''}`)
  }
})

t.test('only the claim app_role of a user makes an administrator', async (t) => {
  const id = await fresh()
  const sub = sessions.ann.id
  const rows: readonly (readonly [claims: Readonly<Record<string, unknown>>, status: number])[] = [
    [{ role: 'authenticated', sub, app_role: 'admin' }, 200],
    [{ role: 'authenticated', app_role: 'admin' }, 200],
    [{ role: 'authenticated', sub }, 403],
    [{ role: 'authenticated', sub, app_role: 'Admin' }, 403],
    [{ role: 'authenticated', sub, app_role: 'administrator' }, 403],
    [{ role: 'authenticated', sub, app_role: ['admin'] }, 403],
    [{ role: 'authenticated', sub, app_role: null }, 403],
    [{ role: 'authenticated', sub, app_role: true }, 403],
    [{ role: 'authenticated', sub, app_metadata: { app_role: 'admin' } }, 403],
    [{ role: 'authenticated', sub, APP_ROLE: 'admin' }, 403],
    [{ role: 'anon', sub, app_role: 'admin' }, 401],
  ]
  for (const [claims, status] of rows) {
    const given = await call('POST', '/rest/v1/rpc/review_report', {
      body: { id, approved: true },
      headers: { Authorization: `Bearer ${await signToken(claims)}` },
    })
    t.equal(given.status, status, JSON.stringify(claims))
  }
})

t.test('with a table grant that is too wide, owners still cannot set the status', async (t) => {
  await database.query('grant insert, update on public.reports to authenticated')
  t.teardown(() =>
    database.query(`
      revoke insert, update on public.reports from authenticated;
      grant insert (user_id, manufacturer, model, year, mileage, price, lat, lng),
        update (manufacturer, model, year, mileage, price, lat, lng) on public.reports to authenticated`),
  )
  for (const user of ['ann', 'admin'] as const) {
    const id = await fresh()
    const updated = await rest(user)('PATCH', `/reports?id=eq.${id}`, {
      body: { status: 'approved' },
      headers: returning,
    })
    t.equal(outcome(updated), user === 'ann' ? '403' : '200 0')
    const inserted = await rest(user)('POST', '/reports', { body: { ...report, status: 'approved' } })
    t.equal(inserted.status, 403)
  }
})

t.test('revoking an administrator takes effect at once', async (t) => {
  const id = await fresh()
  const review = () => sessions.admin.call('PATCH', `/report/${id}/approval`, { body: { approved: true } })
  t.equal((await review()).status, 200)
  await database.query('update auth.users set app_role = null')
  t.equal((await review()).status, 403)
})
