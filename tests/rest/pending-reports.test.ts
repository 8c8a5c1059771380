// `GET /report/pending`: all reports awaiting review, oldest first, page by page.
import t from 'tap'
import { signIn, signUp } from '../support/account.ts'
import { createMigratedDatabase } from '../support/database.ts'
import { startService } from '../support/service.ts'

const database = await createMigratedDatabase()
t.teardown(database.drop)
const { call } = await startService(t, database.authenticatorUri)
const [ann, bob] = [await signUp(call, 'ann@example.org'), await signUp(call, 'bob@example.org')]
await signUp(call, 'admin@example.org')
await database.query("update auth.users set app_role = 'admin' where email = 'admin@example.org'")
const admin = await signIn(call, 'admin@example.org')

type Page = { readonly status: string; readonly details: { readonly id: string }[]; readonly nextCursor: string | null }

async function pageOf(limit: number, cursor?: string | null): Promise<Page> {
  const { status, body } = await admin.call(
    'GET',
    `/report/pending?limit=${limit}${cursor === undefined || cursor === null ? '' : `&cursor=${cursor}`}`,
  )
  t.equal(status, 200)
  return body as Page
}

const idsOf = ({ details }: Page): string[] => details.map(({ id }) => id)

/** Reports of two owners; some were created at the same time, some are reviewed. */
await database.query(
  `insert into public.reports (user_id, manufacturer, model, year, mileage, price, lat, lng, status, created_at)
   select case when n % 2 = 0 then $1::uuid else $2::uuid end, 'Opel', 'Corsa', 2001, n, 1, 1, 1,
     case n % 5 when 0 then 'approved' when 1 then 'rejected' else 'pending' end,
     timestamptz '2024-01-01' + n / 4 * interval '1 microsecond'
   from generate_series(1, 20) n`,
  [ann.id, bob.id],
)
const pendingIds = async (): Promise<string[]> => {
  const { rows } = await database.query(
    "select id from public.reports where status = 'pending' order by created_at, id",
  )
  return rows.map(({ id }) => String(id))
}

t.test('pages of any size contain each pending report once', async (t) => {
  const wanted = await pendingIds()
  t.equal(wanted.length, 12)
  for (const limit of [1, 2, 5, 12, 13, 100]) {
    const found: string[] = []
    let cursor: string | null | undefined
    do {
      const page = await pageOf(limit, cursor)
      t.ok(page.details.length <= limit)
      found.push(...idsOf(page))
      cursor = page.nextCursor
    } while (cursor !== null)
    t.strictSame(found, wanted, `pages of ${limit}`)
  }
})

t.test('reviews and new reports between two pages do not shift the pages', async (t) => {
  const wanted = await pendingIds()
  const first = await pageOf(4)
  t.strictSame(idsOf(first), wanted.slice(0, 4))
  for (const id of [wanted[1], wanted[3]]) {
    const reviewed = await admin.call('PATCH', `/report/${id}/approval`, { body: { approved: true } })
    t.equal(reviewed.status, 200)
  }
  await database.query('delete from public.reports where id = $1', [wanted[5]])
  const second = await pageOf(4, first.nextCursor)
  t.strictSame(idsOf(second), [wanted[4], ...wanted.slice(6, 9)], 'also after a report that is no longer pending')
})

t.test('administrators need a valid cursor, too', async (t) => {
  const { nextCursor } = await pageOf(1)
  for (const [who, status] of [
    [ann, 403],
    [{ call }, 401],
  ] as const) {
    t.equal((await who.call('GET', `/report/pending?cursor=${nextCursor}`)).status, status)
  }
  const given = await admin.call('GET', '/report/pending?cursor=abc')
  t.match([given.status, given.body], [400, { message: 'Validation failed' }])
})
