// Two users read and write while tables, policies and foreign keys change and the schema cache is reloaded: each sees its
// own rows only, in columns that exist.
import pg from 'pg'
import t from 'tap'
import { startApplication } from '../support/application.ts'
import { createMigratedDatabase, withClient } from '../support/database.ts'
import { bearer } from '../support/token.ts'

const database = await createMigratedDatabase()
t.teardown(() => database.drop())
await database.query(`
  create table public.letters (id int generated always as identity primary key, owner text not null default auth.uid()::text, text text, place text);
  create table public.stamps (id int primary key, letter_id int, owner text not null);
  insert into public.letters (owner, text) select '00000000-0000-4000-8000-00000000000' || mod(n, 2), 'letter ' || n from generate_series(1, 40) n;
  insert into public.stamps select id, id, owner from public.letters;
  alter table public.letters enable row level security;
  alter table public.stamps enable row level security;
  create policy own on public.letters using (owner = auth.uid()::text);
  create policy own on public.stamps using (owner = auth.uid()::text);
  grant select, insert on public.letters, public.stamps to authenticated;
  alter table public.stamps add constraint letter foreign key (letter_id) references public.letters`)
const { call, service } = await startApplication(t, database.authenticatorUri, { PGRST_DB_POOL: '6' })

/** The policies of its tables apply to the reader of a view, which PostgreSQL 14 cannot say: there the view chooses rows itself. */
const [invoker, ownOnly] =
  database.majorVersion >= 15 ? ['with (security_invoker)', ''] : ['', 'where owner = auth.uid()::text']

/** Each is one transaction, and leaves the policies as strict as they were. */
const changes = [
  'alter table public.letters add column more text',
  'alter table public.stamps drop constraint letter',
  `drop policy own on public.letters; create policy own on public.letters using (owner = auth.uid()::text and text is not null)`,
  'alter table public.letters rename column more to other',
  'alter table public.stamps add constraint letter foreign key (letter_id) references public.letters',
  'alter table public.letters drop column other',
  'alter table public.letters alter column place type varchar(50)',
  `alter table public.stamps rename to marks; create view public.stamps ${invoker} as select * from public.marks ${ownOnly}; grant select on public.stamps to authenticated; grant select on public.marks to authenticated`,
  'drop view public.stamps; alter table public.marks rename to stamps',
  `drop policy own on public.letters; create policy own on public.letters using (owner = auth.uid()::text)`,
  'alter table public.letters alter column place type text',
] as const

/** A reader of two tables and a change of both can wait for each other; Postgres ends one of them. */
async function change(admin: pg.Client, text: string): Promise<void> {
  for (;;) {
    try {
      await admin.query(text)
      return
    } catch (error) {
      if (!(error instanceof pg.DatabaseError) || error.code !== '40P01') throw error
    }
  }
}

type Letter = { readonly owner: string; readonly stamps?: readonly { readonly owner: string }[] }

/** What a change can cause until it is in the schema cache: a statement that does not fit, or an embedding that is unknown. */
const passing = new Set(['42703', '42P01', '42804', '0A000', 'PGRST200', 'PGRST204', 'PGRST205', '40P01'])

t.test('readers and writers during changes', async (t) => {
  const users = ['00000000-0000-4000-8000-000000000000', '00000000-0000-4000-8000-000000000001'] as const
  let isOver = false
  let [right, failed] = [0, 0]
  const wrong: string[] = []
  const note = (owner: string, { status, body, text }: Awaited<ReturnType<typeof call>>): void => {
    if (status >= 400) {
      failed++
      const { code } = body as { readonly code: string }
      if (!passing.has(code)) wrong.push(`${status} ${text}`)
      return
    }
    const letters = body as readonly Letter[]
    const owners = letters.flatMap((letter) => [letter.owner, ...(letter.stamps ?? []).map((stamp) => stamp.owner)])
    if (letters.length === 0 || owners.some((other) => other !== owner)) wrong.push(text)
    else right++
  }
  const requests = [
    ['GET', '/rest/v1/letters?select=*&order=id.desc&limit=30'],
    ['GET', '/rest/v1/letters?select=owner,stamps(*)'],
    ['GET', '/rest/v1/letters'],
    ['POST', '/rest/v1/letters?select=*'],
  ] as const
  const visit = async (owner: string, start: number): Promise<void> => {
    const headers = { Authorization: await bearer('authenticated', { sub: owner }), Prefer: 'return=representation' }
    for (let round = start; !isOver; round++) {
      const [method, path] = requests[round % requests.length] ?? requests[0]
      const answer = await call(method, path, { headers, ...(method === 'POST' ? { body: { text: 'new' } } : {}) })
      note(owner, answer)
    }
  }
  const visitors = users.flatMap((owner) => [0, 1, 2, 3].map((start) => visit(owner, start)))
  try {
    await withClient(database.adminUri, async (admin) => {
      for (const isAwaited of [true, false]) {
        for (const text of changes) {
          await change(admin, text)
          await (isAwaited ? service.engine.reload() : admin.query('notify pgrst'))
        }
      }
    })
  } finally {
    isOver = true
    await Promise.all(visitors)
  }
  t.strictSame(wrong.slice(0, 5), [])
  t.ok(right > 100 && failed < right, `${right} right, ${failed} failed`)
})

t.test('afterwards, every request is right', async (t) => {
  await service.engine.reload()
  const headers = { Authorization: await bearer('authenticated', { sub: '00000000-0000-4000-8000-000000000001' }) }
  const { status, body } = await call('GET', '/rest/v1/letters?select=*,stamps(*)&id=eq.1', { headers })
  t.equal(status, 200)
  t.match(body, [{ id: 1, text: 'letter 1', stamps: [{ id: 1 }] }])
  t.strictSame(Object.keys((body as readonly object[])[0] ?? {}), ['id', 'owner', 'text', 'place', 'stamps'])
})
