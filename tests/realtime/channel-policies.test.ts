// The policies of `realtime.messages` decide who receives and sends in private channels.
import t from 'tap'
import { connectionConfig } from '../../server/postgres/connection/pool-config.ts'
import { Database } from '../../server/postgres/database.ts'
import { createPool } from '../../server/postgres/pool.ts'
import { createChannelPolicies } from '../../server/services/realtime/policies/channel-policies.ts'
import { createMigratedDatabase } from '../support/database.ts'
import { asRole, asUser } from '../support/row-changes.ts'

const database = await createMigratedDatabase()
const pool = new Database(
  createPool(connectionConfig(database.authenticatorUri, {}), {
    dbPool: 5,
    dbPoolAcquisitionTimeout: 5,
    dbPoolMaxIdletime: 30,
    dbPoolMaxLifetime: 1800,
  }),
)
t.teardown(async () => {
  await pool.close()
  await database.drop()
})

const policies = createChannelPolicies(pool, () => false)
const [none, both] = [
  { read: false, write: false },
  { read: true, write: true },
]
const decide = (topic: string, identity = asUser('00000000-0000-4000-8000-000000000001'), headers = {}) =>
  policies.decide({ identity, topic, headers })

t.test('without policies, only service_role', async (t) => {
  t.strictSame(await decide('a'), { broadcast: none, presence: none })
  t.strictSame(await decide('a', asRole('anon')), { broadcast: none, presence: none })
  t.strictSame(await decide('a', asRole('service_role')), { broadcast: both, presence: both })
  t.strictSame(await decide('a', asRole('no_such_role')), { broadcast: none, presence: none })
})

t.test('by topic, extension, claims, headers and other tables', async (t) => {
  await database.query(`
    create table public.rooms (name text, member uuid);
    alter table public.rooms enable row level security;
    create policy own on public.rooms for select to authenticated using (member = auth.uid());
    grant select on public.rooms to authenticated;
    insert into public.rooms values ('mine', '00000000-0000-4000-8000-000000000001'), ('yours', '00000000-0000-4000-8000-000000000002');
    create policy members on realtime.messages for select to authenticated using (
      exists (select from public.rooms where rooms.name = (select realtime.topic()))
    );
    create policy speakers on realtime.messages for insert to authenticated with check (
      realtime.topic() = 'mine' and extension = 'broadcast' and topic = 'mine'
    );
    create policy guests on realtime.messages for select to anon using (
      realtime.topic() = 'hall' and extension in ('presence')
      and current_setting('request.headers')::json ->> 'x-guest' = 'yes'
      and current_setting('request.jwt.claim.role') = 'anon'
    );`)
  t.strictSame(await decide('mine'), { broadcast: both, presence: { read: true, write: false } })
  t.strictSame(await decide('yours'), { broadcast: none, presence: none })
  t.strictSame(await decide('hall', asRole('anon')), { broadcast: none, presence: none })
  t.strictSame(await decide('hall', asRole('anon'), { 'x-guest': 'yes' }), {
    broadcast: none,
    presence: { read: true, write: false },
  })
  t.strictSame(await decide('quotes "\\, and (parentheses) {braces}'), { broadcast: none, presence: none })
})

t.test('restrictive policies apply to all', async (t) => {
  await database.query(
    `create policy closed on realtime.messages as restrictive for all to public using (topic <> 'mine')`,
  )
  t.strictSame(await decide('mine'), { broadcast: none, presence: none })
  await database.query('drop policy closed on realtime.messages')
})

t.test('a policy that raises refuses that channel only', async (t) => {
  await database.query(`
    create function public.raise() returns boolean language plpgsql as $$ begin raise exception 'secret'; end $$;
    create policy raising on realtime.messages for select to authenticated using (
      case realtime.topic() when 'broken' then public.raise() end
    )`)
  await t.rejects(decide('broken'), { message: 'secret' })
  t.strictSame(await decide('mine'), { broadcast: both, presence: { read: true, write: false } })
})

t.test('nothing is stored', async (t) => {
  t.strictSame((await database.query('select from realtime.messages')).rowCount, 0)
})
