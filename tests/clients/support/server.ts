// The server that a file of scenarios uses: the built program with an embedded database and the project of this folder.
import { chmod, cp, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { randomBytes } from 'node:crypto'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { SignJWT } from 'jose'
import type { Test } from 'tap'
import { rowhouse } from '../../support/command.ts'
import { startProgram, type Program } from '../../support/program.ts'

const project = fileURLToPath(new URL('../project', import.meta.url))

export type ClientServer = {
  /** Address of the server, without a trailing slash. */
  readonly url: string
  readonly program: Program
  /** Key for pages, of the role `anon`. */
  readonly publishableKey: string
  /** Key of the role `service_role`, which bypasses policies. */
  readonly secretKey: string
  /** Connection string of the owner of the tables, a superuser. */
  readonly databaseUri: string
  /** A JWT of a role, as a session or as a legacy key, that is valid for an hour unless the claims say otherwise. */
  readonly token: (role: string, claims?: Readonly<Record<string, unknown>>) => Promise<string>
  /** Creates an account with a proven address. @returns its id */
  readonly addUser: (email: string, password: string) => Promise<string>
}

export type ServerOptions = {
  /** Settings of the server. */
  readonly env?: Readonly<Record<string, string>>
  /** SQL that is applied after the project's migration. */
  readonly sql?: string
}

/** Starts a server for the duration of a test. Sign-ups need no confirmation, unless the settings say so. */
export async function startServer(
  t: Pick<Test, 'teardown'>,
  { env = {}, sql = '' }: ServerOptions = {},
): Promise<ClientServer> {
  const folder = await mkdtemp(join(tmpdir(), 'rowhouse-client-'))
  t.teardown(() => rm(folder, { recursive: true, force: true }))
  // The user of the database must reach its data.
  await chmod(folder, 0o711)
  const migrations = join(folder, 'supabase/migrations')
  await cp(project, migrations, { recursive: true })
  if (sql !== '') await writeFile(join(migrations, '20260102000000_scenario.sql'), sql)
  const data = join(folder, 'data')
  const secret = randomBytes(32).toString('hex')
  const program = startProgram(t, {
    SERVICES: 'rest,auth,storage,realtime',
    PGRST_SERVER_HOST: '127.0.0.1',
    MIGRATIONS_DIR: migrations,
    DATA_DIR: data,
    PGRST_JWT_SECRET: secret,
    GOTRUE_MAILER_AUTOCONFIRM: 'true',
    ...env,
  })
  // Printed when the server listens and the keys exist.
  const { url, publishableKey, secretKey } = (await program.line((line) => 'publishableKey' in line)) as Readonly<
    Record<'url' | 'publishableKey' | 'secretKey', string>
  >
  return {
    url,
    program,
    publishableKey,
    secretKey,
    databaseUri: (await rowhouse(['url'], { DATA_DIR: data })).out.trim(),
    token: (role, claims = {}) =>
      new SignJWT({ role, iss: 'supabase', exp: Math.floor(Date.now() / 1000) + 3600, ...claims })
        .setProtectedHeader({ alg: 'HS256' })
        .sign(new TextEncoder().encode(secret)),
    addUser: async (email, password) => {
      const { status, body } = await program.call('POST', '/auth/v1/admin/users', {
        headers: { apikey: secretKey, 'Content-Type': 'application/json' },
        body: { email, password, email_confirm: true },
      })
      const { id } = body as { readonly id?: string }
      if (status !== 200 || id === undefined) throw new Error(`Creating ${email}: ${status} ${JSON.stringify(body)}`)
      return id
    },
  }
}
