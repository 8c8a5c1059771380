// Writers at the same time: no update is lost, and the newest version decides.
import t from 'tap'
import { startConditional, tagOf } from '../support/conditional.ts'
import { withClient } from '../support/database.ts'
import { rowWaits } from '../support/locks.ts'
import { until } from '../support/until.ts'

const { as, database, reload } = await startConditional(t)

t.test('50 writers lose no update', async (t) => {
  const wins = new Map<string, number>()
  let successes = 0
  const writer = async (path: string): Promise<void> => {
    for (let done = 0; done < 1;) {
      const read = await as('ann', 'GET', path)
      const [{ value = 0 } = {}] = [read.body].flat() as { value?: number }[]
      const headers = { 'If-Match': tagOf(read), Prefer: 'return=minimal' }
      const written = await as('ann', 'PATCH', path, { body: { value: value + 1 }, headers })
      if (written.status === 412) continue
      if (written.status > 204) throw new Error(written.text)
      const version = tagOf(read).replace(/\/.*/, '')
      wins.set(version, (wins.get(version) ?? 0) + 1)
      successes++
      done++
    }
  }
  await Promise.all([
    ...Array.from({ length: 25 }, () => writer('/counters/4')),
    ...Array.from({ length: 25 }, () => writer('/counters?id=eq.4')),
  ])
  t.equal(successes, 50)
  t.strictSame([...new Set(wins.values())], [1], 'one writer wins per version')
  t.match(await as('ann', 'GET', '/counters/4'), { body: { value: 50 } })
})

type Writer = {
  readonly label: string
  readonly write: (value: number, tag: string) => Promise<{ readonly status: number; readonly text: string }>
}

/** Writers of a row with the columns `id`, `value` and others, by every form of conditional write. */
function writersOf(relation: string, id: number): readonly Writer[] {
  const path = `/${relation}?id=eq.${id}`
  const send = (method: string, url: string, body: unknown, tag: string, prefer = 'return=minimal') =>
    as('ann', method, url, { body, headers: { 'If-Match': tag, Prefer: prefer } })
  return [
    { label: 'PATCH', write: (value, tag) => send('PATCH', path, { value }, tag) },
    {
      label: 'PATCH, with the row',
      write: (value, tag) => send('PATCH', path, { value }, tag, 'return=representation'),
    },
    { label: 'PUT', write: (value, tag) => send('PUT', path, { id, value }, tag) },
    {
      label: 'two writes in a batch',
      write: (value, tag) => {
        const part = (id: string, body: unknown, headers: object) =>
          ({ id, method: 'PATCH', url: path, body, headers }) as const
        const requests = [part('1', { value: -1 }, { 'If-Match': tag }), part('2', { value }, {})]
        return as('ann', 'POST', '/$batch', { body: { requests } })
      },
    },
    {
      label: 'DELETE, and PUT of a new row',
      write: async (value, tag) => {
        const deleted = await send('DELETE', path, undefined, tag)
        if (deleted.status > 204) return deleted
        return as('ann', 'PUT', path, { body: { id, value }, headers: { 'If-None-Match': '*' } })
      },
    },
  ]
}

t.test('writers of all kinds lose no update, with system versions and a version column', async (t) => {
  await database.query(`
    create function cond.rewrite() returns trigger language plpgsql as $$
    begin
      if new.note is null then update cond.rewritten set note = 'by a trigger' where id = new.id; end if;
      return null;
    end $$;
    create table cond.rewritten (id int primary key, value int, note text);
    create trigger rewrite after insert or update on cond.rewritten for each row execute function cond.rewrite();
    insert into cond.rewritten values (1, 0);
    insert into cond.versioned values (9, 0);
    insert into cond.counters values (9, 0);
    grant select, insert, update, delete on cond.rewritten to authenticated`)
  await reload({})
  for (const [relation, id] of [
    ['counters', 9],
    ['versioned', 9],
    ['rewritten', 1],
  ] as const) {
    // A row that is created again has the first version again, so only system versions tell it from the one before.
    const writers = writersOf(relation, id).filter(
      ({ label }) => relation !== 'versioned' || !label.startsWith('DELETE'),
    )
    const refused = new Set<number>()
    const run = async ({ write, label }: Writer): Promise<void> => {
      for (let tries = 0; tries < 200; tries++) {
        const read = await as('ann', 'GET', `/${relation}?id=eq.${id}`)
        const [row] = read.body as { value: number }[]
        if (!row) continue
        const { status, text } = await write(row.value + 1, tagOf(read))
        if (status < 300) return
        refused.add(status)
        if (status !== 412) throw new Error(`${label}: ${status} ${text}`)
      }
      throw new Error(`${label}: not written`)
    }
    await Promise.all([...writers, ...writers].map(run))
    const [row] = (await as('ann', 'GET', `/${relation}?id=eq.${id}`)).body as { value: number }[]
    t.equal(row?.value, 2 * writers.length, relation)
    t.strictSame([...refused], [412], `${relation}: some writers were too late`)
  }
})

/** Sends a write while another transaction has changed its row, and commits that transaction. */
async function duringChange<T>(change: string, write: () => Promise<T>): Promise<T> {
  return withClient(database.adminUri, async (client) => {
    await client.query('begin')
    await client.query(change)
    const answer = write()
    await until(async () => (await database.query(rowWaits)).rowCount === 1)
    await client.query('commit')
    return answer
  })
}

t.test('a write that waits for another one compares the newest version', async (t) => {
  const touch = (relation: string, id: string): string => `update cond.${relation} set value = value where id = ${id}`
  const rows = [
    ['PATCH', 'counters', '5', { value: 7 }],
    ['PUT', 'counters', '5', { id: 5, value: 7 }],
    ['DELETE', 'counters', '5', undefined],
    ['PATCH', 'versioned', '2', { value: 7 }],
    ['PUT', 'versioned', '2', { id: 2, value: 7 }],
  ] as const
  for (const [method, relation, id, body] of rows) {
    const path = `/${relation}?id=eq.${id}`
    const tag = tagOf(await as('ann', 'GET', path))
    const late = await duringChange(touch(relation, id), () =>
      as('ann', method, path, { body, headers: { 'If-Match': tag } }),
    )
    t.match(late, { status: 412, body: { code: 'PGRSTX50' } }, `${method} ${path}`)
  }
  const tag = tagOf(await as('ann', 'GET', '/counters/5'))
  const gone = await duringChange('delete from cond.counters where id = 5', () =>
    as('ann', 'PATCH', '/counters?id=eq.5', { body: { value: 7 }, headers: { 'If-Match': tag } }),
  )
  t.equal(gone.status, 412, 'the row was deleted')
  const { rows: left } = await database.query('select id from cond.counters where value = 7')
  t.strictSame(left, [])
})

t.test('of two that create a row, one does', async (t) => {
  const create = (value: number) =>
    as('ann', 'PUT', '/counters?id=eq.50', { body: { id: 50, value }, headers: { 'If-None-Match': '*' } })
  const answers = await Promise.all(Array.from({ length: 10 }, (_, value) => create(value)))
  t.strictSame(answers.map(({ status }) => status).sort(), [204, ...Array.from({ length: 9 }, () => 412)])
})
