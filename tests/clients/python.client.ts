// The clients in Python: `postgrest` (postgrest-py) by itself, and `supabase` (supabase-py), synchronous and asynchronous.
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import sharp from 'sharp'
import t from 'tap'
import { client, startProvider } from '../support/oidc-provider.ts'
import { runScript, whyNoPython } from './support/python.ts'
import { cannotRun, scenario } from './support/scenario.ts'
import { startServer } from './support/server.ts'

const builders = 'every filter, modifier and preference, writes, functions, errors; 30 requests at once'
const everything =
  'accounts, administration, second factor, tables of two people, files, functions; asynchronously also changes of rows, messages, presence, links of mails, a provider with PKCE'

const sql = `
  create table public.stays (id integer primary key, days int4range not null);
  alter table public.stays enable row level security;
  create policy "users read stays" on public.stays for select to authenticated using (true);
  insert into public.stays values (1, '[0,5)'), (2, '[5,9)'), (3, '[10,20)');
  create policy "own folder" on storage.objects to authenticated
    using (bucket_id = 'python' and (storage.foldername(name))[1] = (select auth.uid())::text)
    with check (bucket_id = 'python' and (storage.foldername(name))[1] = (select auth.uid())::text);
  analyze public.posts`

/** Says who calls it. */
const hello = `
  Deno.serve(async (request: Request) => {
    const { name } = await request.json()
    const [, claims] = (request.headers.get('Authorization') ?? '').split('.')
    const { role } = claims ? JSON.parse(atob(claims.replaceAll('-', '+').replaceAll('_', '/'))) : { role: 'anon' }
    return Response.json({ message: 'Hello ' + name, role })
  })`

const why = whyNoPython()
if (why !== undefined) {
  cannotRun(t, 'supabase-py', everything, why)
  cannotRun(t, 'postgrest-py', builders, why)
} else {
  const folder = await mkdtemp(join(tmpdir(), 'rowhouse-python-'))
  t.teardown(() => rm(folder, { recursive: true, force: true }))
  await mkdir(join(folder, 'hello'))
  await writeFile(join(folder, 'hello/index.ts'), hello)
  const picture = join(folder, 'picture.png')
  await sharp({ create: { width: 16, height: 16, channels: 3, background: 'red' } }).toFile(picture)
  const provider = await startProvider(t, { ann: { email: 'ann@keycloak.example', email_verified: true, name: 'Ann' } })
  const server = await startServer(t, {
    sql,
    env: {
      SERVICES: 'rest,auth,storage,realtime,functions',
      FUNCTIONS_DIR: folder,
      GOTRUE_EXTERNAL_KEYCLOAK_ENABLED: 'true',
      GOTRUE_EXTERNAL_KEYCLOAK_CLIENT_ID: client.id,
      GOTRUE_EXTERNAL_KEYCLOAK_SECRET: client.secret,
      GOTRUE_EXTERNAL_KEYCLOAK_URL: provider.issuer,
    },
  })
  provider.serve(`${server.url}/auth/v1/callback`)
  const env = {
    URL: server.url,
    PUBLISHABLE_KEY: server.publishableKey,
    SECRET_KEY: server.secretKey,
    TOKEN: await server.token('authenticated', { sub: crypto.randomUUID() }),
    PICTURE: picture,
  }

  await scenario(t, 'postgrest-py', builders, async (t, { folder }) => {
    await runScript(t, folder, 'postgrest_builders', env)
    return undefined
  })

  await scenario(t, 'supabase-py', everything, async (t, { folder }) => {
    await runScript(t, folder, 'supabase_sync', env)
    await runScript(t, folder, 'supabase_async', env)
    return undefined
  })
}
