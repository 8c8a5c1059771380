// Generated walks through keyset pages while rows come and go: every row that stays is on exactly one page, in order.
// `SEED=` and `WALKS=` repeat or lengthen the run.
import t from 'tap'
import { insertWalked, orderOf, rowsOf, walkTables } from '../support/generated-walks.ts'
import { keyset, pageOf, type Ask, type Page } from '../support/page-walk.ts'
import { createPagedDatabase, startPaged } from '../support/paged-rest.ts'
import { seededRandom, testSeed } from '../support/seeded-random.ts'

const database = await createPagedDatabase(t)
await database.query(`${walkTables}
  grant all on all tables in schema public to ${database.role}; grant usage on schema ext to ${database.role}`)
const seed = testSeed()
const walks = Number(process.env.WALKS ?? 14)
const kept = Array.from({ length: 24 }, (_, index) => 2 * index)

const idsOf = ({ rows }: Pick<Page, 'rows'>): number[] => rows.map(({ id }) => Number(id))

/** Follows links in one direction. `change` runs between two pages. */
async function read(ask: Ask, first: Page, direction: 'next' | 'prev', change: () => Promise<void>): Promise<Page[]> {
  const pages = [first]
  for (let link = first.links[direction]; link !== undefined; link = pages.at(-1)?.links[direction]) {
    if (pages.length > 300) throw new Error('the links do not end')
    await change()
    pages.push(await pageOf(ask, link))
  }
  return pages
}

t.test(`${walks} walks, SEED=${seed}`, async (t) => {
  const random = seededRandom(seed)
  const ask = await startPaged(t, database)
  for (let walk = 0; walk < walks; walk++) {
    await database.query('truncate walked')
    await database.query(insertWalked, [rowsOf(random, kept)])
    const changes = random.chance(0.7)
    const change = async (): Promise<void> => {
      if (!changes) return
      await database.query('delete from walked where id % 2 = 1 and id % 3 = $1', [random.below(3)])
      const ids = random.some(0, 4, () => 2 * random.below(24) + 1)
      await database.query(`${insertWalked} on conflict do nothing`, [rowsOf(random, [...new Set(ids)])])
    }
    await change()
    const order = orderOf(random)
    const select = 'select=id,client:walk_clients(id,name,mail)'
    const direction = /\.desc[^,]*$/.test(order) ? '.desc' : ''
    const total = encodeURIComponent(`${order === '' ? '' : `${order},`}id${direction}`)
    const whole = idsOf(await pageOf(ask, `/walked?${select}&order=${total}`))
    const path = `/walked?${select}${order === '' ? '' : `&order=${encodeURIComponent(order)}`}`
    const label = `walk ${walk}: order=${order}`
    const forward = await read(ask, await pageOf(ask, `${path}&limit=${random.integer(3, 9)}`, keyset), 'next', change)
    const last = forward.at(-1)
    if (!last) throw new Error('there is no page')
    const backward = await read(ask, last, 'prev', change)
    const stays = (id: number): boolean => (changes ? id % 2 === 0 : true)
    const expected = whole.filter(stays)
    t.strictSame(forward.flatMap(idsOf).filter(stays), expected, `${label}, forward`)
    t.strictSame(backward.toReversed().flatMap(idsOf).filter(stays), expected, `${label}, backward`)
  }
})

t.test('columns that may be null although they are declared as not null', async (t) => {
  await database.query(`
    create table unchecked (id int primary key, rank int);
    insert into unchecked select n, nullif(n % 3, 0) from generate_series(1, 9) n;
    do $$ begin
      if current_setting('server_version_num')::int >= 180000 then
        execute 'alter table unchecked add constraint ranked not null rank not valid';
      end if;
    end $$;
    create domain rank as int not null;
    create table by_domain (id int primary key, rank rank);
    insert into by_domain select n, (select rank from by_domain where false) from generate_series(1, 4) n;
    insert into by_domain select n, n from generate_series(5, 9) n;
    grant all on unchecked, by_domain to ${database.role}`)
  const ask = await startPaged(t, database)
  for (const path of ['/unchecked?order=rank', '/unchecked?order=rank.desc,id', '/by_domain?order=rank']) {
    const whole = await pageOf(ask, path)
    const pages = await read(ask, await pageOf(ask, `${path}&limit=2`, keyset), 'next', () => Promise.resolve())
    t.same(new Set(pages.flatMap(idsOf)), new Set(idsOf(whole)), path)
    t.equal(pages.flatMap(idsOf).length, 9, path)
  }
})

t.test('a role whose settings make the text of values ambiguous', async (t) => {
  const role = `${database.role}_styles`
  await database.query(`
    create table styles (id int primary key, near float8, day date, at timestamptz);
    insert into styles select n, 0.3::float8 + n * 1e-16::float8, date '2026-01-08' + n * 9,
      timestamptz '2026-10-24 22:30:00+00' + n * interval '30 minutes' from generate_series(1, 9) n;
    create role ${role} nologin; grant ${role} to current_user;
    grant select on styles to ${role}, ${database.role};
    alter role ${role} set extra_float_digits = 0;
    alter role ${role} set datestyle = 'SQL, DMY';
    alter role ${role} set timezone = 'Asia/Kolkata'`)
  t.teardown(() => database.query(`drop owned by ${role}; drop role ${role}`))
  const ask = await startPaged(t, database)
  const styled = { 'X-Role': role }
  for (const path of ['/styles?order=near', '/styles?order=at.desc', '/styles?order=day&day=gt.16/01/2026']) {
    const as: Ask = (link, headers) => ask(link, { ...headers, ...styled })
    const first = await pageOf(as, `${path}&limit=2`, keyset)
    const whole = (await pageOf(as, path)).rows.length
    t.equal(whole, 9)
    t.equal((await read(as, first, 'next', () => Promise.resolve())).flatMap(idsOf).length, whole, path)
  }
  const first = await pageOf(ask, '/styles?order=day&limit=2', { ...keyset, ...styled })
  const pages = await read(ask, first, 'next', () => Promise.resolve())
  t.equal(pages.flatMap(idsOf).length, 9, 'with the link of a caller with other settings')
})
