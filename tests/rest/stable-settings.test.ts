// Functions that are declared stable set `response.headers` and `response.status` for every response, however often a request
// is repeated and its plan is cached.
import t from 'tap'
import { createDatabase } from '../support/database.ts'
import { startRawRest } from '../support/raw-rest.ts'

const database = await createDatabase()
t.teardown(() => database.drop())
const role = `settings_${database.name}`
await database.query(`
  create role ${role} nologin;
  create function public.announce(id int) returns boolean stable language plpgsql as $$
    begin
      perform set_config('response.headers', '[{"X-Set":"yes"}]', true);
      perform set_config('response.status', '218', true);
      return true;
    end $$;
  create table public.quiet (id int primary key);
  create table public.guarded (id int primary key);
  insert into public.quiet values (1), (2);
  insert into public.guarded values (1), (2);
  alter table public.guarded enable row level security;
  create policy announced on public.guarded using (public.announce(id));
  create view public.announcing as select id, public.announce(id) from public.quiet;
  create function public.computed(public.guarded) returns boolean stable language sql as 'select public.announce($1.id)';
  create function public.me(id int) returns int stable language sql as 'select id from public.announcing a where a.id = me.id and a.announce';
  grant select on all tables in schema public to ${role}`)
t.teardown(() => database.query(`drop owned by ${role}; drop role ${role}`))
const url = await startRawRest(t, { uri: database.adminUri, role }, { dbTxEnd: 'commit' })

for (const path of ['/guarded?id=eq.', '/announcing?id=eq.', '/rpc/me?id=', '/quiet?id=eq.']) {
  t.test(path, async (t) => {
    const sets = !path.startsWith('/quiet')
    for (let round = 0; round < 8; round++) {
      const response = await fetch(`${url}${path}${(round % 2) + 1}`)
      await response.text()
      t.strictSame([response.status, response.headers.get('x-set')], sets ? [218, 'yes'] : [200, null])
    }
  })
}
