// The tag of a write is the one that a read shows afterwards; there is none when a trigger may write the row again.
import t from 'tap'
import { startApplication } from '../support/application.ts'
import { createMigratedDatabase } from '../support/database.ts'

const database = await createMigratedDatabase()
t.teardown(() => database.drop())

/** What happens to each table when its rows are written, and whether its tags are known. */
const cases: Readonly<Record<string, { readonly sql: (table: string) => string; readonly isKnown: boolean }>> = {
  plain: { sql: () => '', isKnown: true },
  before: { sql: (table) => `create trigger x before insert or update on ${table} for each row execute function public.touch()`, isKnown: true },
  noted: { sql: (table) => `create trigger x after delete on ${table} for each row execute function public.rewrite()`, isKnown: true },
  disabled: { sql: (table) => `create trigger x after insert or update on ${table} for each row when (pg_trigger_depth() = 0)
    execute function public.rewrite(); alter table ${table} disable trigger x`, isKnown: true },
  row_level: { sql: (table) => `create trigger x after insert or update on ${table} for each row when (pg_trigger_depth() = 0)
    execute function public.rewrite()`, isKnown: false },
  statement_level: { sql: (table) => `create trigger x after insert or update on ${table} for each statement
    when (pg_trigger_depth() = 0) execute function public.rewrite()`, isKnown: false },
  caught: { sql: (table) => `create trigger x after insert or update on ${table} for each row when (pg_trigger_depth() = 0)
    execute function public.rewrite_caught()`, isKnown: false },
  deferred: { sql: (table) => `create constraint trigger x after insert or update on ${table} deferrable initially deferred
    for each row when (pg_trigger_depth() = 0) execute function public.rewrite()`, isKnown: false },
  inserted: { sql: (table) => `create trigger x after insert on ${table} for each row execute function public.rewrite()`, isKnown: false },
  self_reference: { sql: (table) => `alter table ${table} add column other int references ${table} on update cascade`, isKnown: false },
} // prettier-ignore

await database.query(`
  create function public.bump() returns trigger language plpgsql as $$ begin new.row_version := old.row_version + 1; return new; end $$;
  create function public.touch() returns trigger language plpgsql as $$ begin new.note := 'touched'; return new; end $$;
  create function public.rewrite() returns trigger language plpgsql as $$ begin
    execute format('update %s set text = text || ''!''', tg_relid::regclass);
    return null;
  end $$;
  create function public.rewrite_caught() returns trigger language plpgsql as $$ begin
    begin
      execute format('update %s set text = text || ''!''', tg_relid::regclass);
    exception when division_by_zero then null;
    end;
    return null;
  end $$;
  ${Object.entries(cases)
    .map(
      ([name, { sql }]) => `
  create table public.${name} (id int primary key, text text, note text, row_version int not null default 1);
  create trigger a_bump before update on public.${name} for each row execute function public.bump();
  ${sql(`public.${name}`)};
  create view public.${name}_view as select * from public.${name};`,
    )
    .join('\n')}
  create table public.divided (id int, text text, note text, row_version int not null default 1, primary key (id)) partition by range (id);
  create table public.divided_1 partition of public.divided for values from (0) to (100);
  create trigger x after insert or update on public.divided_1 for each row when (pg_trigger_depth() = 0) execute function public.rewrite();
  grant all on all tables in schema public to anon`)

const object = 'application/vnd.pgrst.object+json'

for (const column of [undefined, 'row_version']) {
  t.test(column === undefined ? 'by the system version' : 'by a column', async (t) => {
    const { call } = await startApplication(t, database.authenticatorUri, {
      SERVICES: 'rest',
      ...(column === undefined ? {} : { DB_VERSION_COLUMN: column }),
    })
    const relations = [
      ...Object.entries(cases).map(([name, { isKnown }]) => [name, isKnown] as const),
      ...(column === undefined
        ? []
        : Object.entries(cases).map(([name, { isKnown }]) => [`${name}_view`, isKnown] as const)),
      ['divided', false] as const,
    ]
    for (const [name, isKnown] of relations) {
      await database.query(`truncate public.${name.replace('_view', '')}`)
      const headers = { Accept: object, Prefer: 'return=representation' }
      const row = `/rest/v1/${name}?id=eq.1`
      const writes = [
        ['POST', `/rest/v1/${name}`, { id: 1, text: 'a' }, {}],
        ['PATCH', row, { text: 'b' }, {}],
        ...(name.endsWith('_view') ? [] : [['PUT', row, { id: 1, text: 'c', note: null, row_version: 9 }, {}] as const]),
        ...(name.endsWith('_view') ? [] : [['POST', `/rest/v1/${name}`, { id: 1, text: 'd' }, { Prefer: 'return=representation, resolution=merge-duplicates' }] as const]),
      ] as const // prettier-ignore
      for (const [method, path, body, more] of writes) {
        const written = await call(method, path, { body, headers: { ...headers, ...more } })
        t.ok(written.status < 300, `${name} ${method}: ${written.text}`)
        const tag = written.headers.get('etag')
        const read = await call('GET', row, { headers: { Accept: object } })
        const title = `${name}: ${method} to ${path}`
        // A trigger after INSERT writes no row again that is updated.
        const rewrites = name.startsWith('inserted')
          ? method !== 'PATCH'
          : name.startsWith('self')
            ? method !== 'POST' || 'Prefer' in more
            : true
        if (isKnown || !rewrites) t.equal(tag, read.headers.get('etag'), title)
        else t.equal(tag, null, title)
        if (tag === null) continue
        const condition = { 'If-Match': tag }
        const next = await call('PATCH', row, { body: { note: 'n' }, headers: { ...headers, ...condition } })
        t.equal(next.status, 200, `${title}: the tag is the version of the row`)
        t.equal((await call('PATCH', row, { body: { note: 'n' }, headers: { ...headers, ...condition } })).status, 412)
      }
    }
  })
}
