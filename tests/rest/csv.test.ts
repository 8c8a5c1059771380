// CSV beyond what PostgREST reads: byte order marks, JSON in columns of type json, and lines with too many fields. Small
// bodies, bodies that are read in parts, and imports are read alike.
import t from 'tap'
import { createImportDatabase, inPieces, send, startImportApi } from '../support/import-database.ts'
import { seededRandom, testSeed } from '../support/seeded-random.ts'

const database = await createImportDatabase(t)
await database.query(`
  create domain public.settings as jsonb check (jsonb_typeof(value) in ('object', 'string'));
  create domain public.shout as jsonb;
  create function public.shouted(json) returns public.shout language sql immutable
    as $$ select to_jsonb(upper($1 #>> '{}'))::public.shout $$;
  create cast (json as public.shout) with function public.shouted(json) as implicit;
  create table public.papers (id int, j json, b jsonb, list jsonb[], s public.settings, loud public.shout, t text);
  create view public.drafts as select id, j as draft from public.papers;
  create function public.kind(b jsonb) returns text language sql as $$ select jsonb_typeof(b) $$;
  grant all on public.papers, public.drafts to ${database.role};
  -- pg_input_is_valid of PostgreSQL 16 and later.
  create schema checks;
  create function checks.is_json(t text) returns boolean language plpgsql as
    $$ begin perform t::jsonb; return true; exception when others then return false; end $$`)

const api = await startImportApi(t, database)
/** CSV above 512 bytes is imported. */
const small = await startImportApi(t, database, { restBodyLimit: 512 })

/** Ways to send CSV; blank lines make it as large as each way needs. */
const ways = {
  'a small body': (path: string, body: string, prefer: string) =>
    send(api.url, path, 'text/csv', body, { Prefer: prefer }),
  'a body that is read in parts': (path: string, body: string, prefer: string) =>
    send(api.url, path, 'text/csv', body + '\n'.repeat(20_000), { Prefer: prefer }),
  'an import': (path: string, body: string, prefer: string) =>
    send(small.url, path, 'text/csv', body + '\n'.repeat(600), { Prefer: prefer }),
  'an import in pieces of one byte': (path: string, body: string, prefer: string) =>
    send(small.url, path, 'text/csv', inPieces(body + '\n'.repeat(600), 1), { Prefer: prefer }),
} as const

const quote = (field: string): string => `"${field.replaceAll('"', '""')}"`

async function written(columns: string): Promise<readonly unknown[]> {
  const { rows } = await database.query(`select ${columns} from public.papers order by id`)
  return rows
}

for (const [way, post] of Object.entries(ways)) {
  void t.test(way, async (t) => {
    t.beforeEach(() => database.query('truncate public.papers'))

    await t.test('a byte order mark is no part of the first name', async (t) => {
      for (const header of ['id,t', '"id",t'])
        t.match(await post('/papers', `\ufeff${header}\n1,\ufeffx\n`, ''), { status: 201 })
      t.strictSame(await written('id, t'), Array(2).fill({ id: 1, t: '\ufeffx' }), 'only the first one')
      t.match(await post('/papers', `\ufeff\ufeffid\n1\n`, ''), { status: 400, body: { code: 'PGRST204' } })
    })

    await t.test('a line with more fields than the header', async (t) => {
      const long = (line: number, details: string) => ({
        status: 400,
        body: { code: 'PGRST102', message: `Line ${line} has more fields than the header`, details, line },
      })
      t.match(await post('/papers', 'id,t\n1,"a\r\nb"\n\n2,b,\n', ''), long(5, 'The header has 2 fields.'))
      t.match(await post('/papers', 'id\r1,2\r', ''), long(2, 'The header has one field.'))
      t.match(await post('/papers', `id,t\n1,a${',x'.repeat(50)}\n`, ''), long(2, 'The header has 2 fields.'))
      t.strictSame(await written('id'), [], 'nothing is written')
    })

    await t.test('JSON in columns of type json', async (t) => {
      const header = 'id,j,b,list,s,loud,t'
      const json = ['{"a": [1, "x\\n"]}', '{"a":\n[1]}', '{1,2}', '{"on":true}', '{"a":1}', '{"a":1}'].map(quote)
      const other = ['{"a":1', 'plain', '{}', "{'a':1}", '5', '5'].map(quote)
      t.match(
        await post('/papers', `${header}\n1,${json.join()}\n2,${other.join()}\n3,NULL,null,NULL,,NULL,NULL\n`, ''),
        {
          status: 201,
        },
      )
      t.strictSame(await written('id, j::text, b, list::text, s, loud, t'), [
        {
          id: 1,
          j: '{"a": [1, "x\\n"]}',
          b: { a: [1] },
          list: '{1,2}',
          s: { on: true },
          loud: '{"A":1}',
          t: '{"a":1}',
        },
        { id: 2, j: '"{\\"a\\":1"', b: 'plain', list: '{}', s: "{'a':1}", loud: '5', t: '5' },
        { id: 3, j: null, b: null, list: null, s: '', loud: null, t: null },
      ])
      await database.query('truncate public.papers')
      t.match(await post('/drafts', 'id,draft\n1,[1]\n', ''), { status: 201 }, 'by a view')
      t.match(await post('/papers?columns=id,b', 'id,b\n2,[2]\n', 'missing=default'), { status: 201 }, 'with defaults')
      t.strictSame(await written('id, j, b'), [
        { id: 1, j: [1], b: null },
        { id: 2, j: null, b: [2] },
      ])
    })

    await t.test('any text becomes JSON if Postgres can store it as such, and a string otherwise', async (t) => {
      const { pick, some } = seededRandom(testSeed(41))
      const pieces = [
        '{',
        '}',
        '[',
        ']',
        ',',
        ':',
        '"',
        '"a"',
        '1',
        '-',
        '0',
        '.5',
        'e9',
        ' ',
        '\n',
        'true',
        'null',
        '\\',
        'u00',
      ] as const
      const texts = [
        ...[
          '',
          ' ',
          '1e999999',
          '1e-99999',
          '1E+0009',
          '"\\u0000"',
          '"\\ud800"',
          '"\\ud83d\\ude00"',
          'nul',
          'NaN',
          '01',
        ],
        ...['[1,]', '{"a":1,"a":2}', '\t[ ]\r\n', '\u00a0[]', '"x"', 'false', '"\u007f"', '"\t"', '9'.repeat(7000)],
        ...['['.repeat(3000) + ']'.repeat(3000), '['.repeat(999) + ']'.repeat(999), `"${'\\'.repeat(99)}"`],
        ...some(200, 200, () => some(1, 6, () => pick(pieces)).join('')),
      ]
      const rows = texts.map((text, id) => `${id},${quote(text)},${quote(text)},${quote(text)}`)
      // A row may be as large as the limit.
      const short = rows.filter((row) => way !== 'an import' || row.length < 400)
      if (way === 'an import in pieces of one byte') return
      for (let at = 0; at < short.length; at += 40) {
        const answer = await post('/papers', `id,t,j,b\n${short.slice(at, at + 40).join('\n')}\n`, '')
        t.match(
          answer,
          { status: 201 },
          short
            .slice(at, at + 40)
            .join('\n')
            .slice(0, 300),
        )
      }
      const { rows: wrong } = await database.query(`
        select id, left(t, 100) as text, left(b::text, 100) as found from public.papers
        where not coalesce(case
          when length(t) > 5000 then b = to_jsonb(t)
          when t = 'null' or t ~ '^[ \\n]*null[ \\n]*$' then b is null and j is null
          when checks.is_json(t) then b = t::jsonb and j::jsonb = b
          else b = to_jsonb(t) and j::jsonb = b end, false)`)
      t.strictSame(wrong, [])
      t.equal((await written('id')).length, short.length)
    })
  })
}

t.test('PATCH, PUT and upserts', async (t) => {
  await database.query('truncate public.papers, public.items; insert into public.items (id, name) values (1, $$a$$)')
  const write = async (method: string, path: string, body: string) =>
    (await fetch(api.url + path, { method, body, headers: { 'Content-Type': 'text/csv' } })).status
  const tags = async () => (await database.query('select tags from public.items')).rows
  t.equal(await write('PATCH', '/items?id=eq.1', 'tags\n"{""a"":1}"\n'), 204)
  t.strictSame(await tags(), [{ tags: { a: 1 } }])
  t.equal(await write('PUT', '/items?id=eq.1', 'id,name,price,parent,tags\n1,a,1,1,[2]\n'), 204)
  t.strictSame(await tags(), [{ tags: [2] }])
  for (let round = 3; round < 7; round++) {
    t.equal(await write('PATCH', '/items?id=eq.1', `tags\n[${round}]\n`), 204)
    t.strictSame(await tags(), [{ tags: [round] }], 'with a cached plan')
  }
})

t.test('arguments of functions are strings, as in PostgREST', async (t) => {
  const answer = await send(api.url, '/rpc/kind', 'text/csv', 'b\n[1]\n')
  t.match(answer, { status: 200, body: 'string' })
})
