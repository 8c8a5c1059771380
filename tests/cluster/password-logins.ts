// Login roles with a password, on a server that trusted every connection.
import type { Query } from './pooled-program.ts'

export type PasswordLogins = {
  readonly password: string
  /** What the server stores of the password: a SCRAM verifier for each login role. */
  readonly verifiers: ReadonlyMap<string, string>
  /** Makes the server trust every connection again. */
  readonly undo: () => Promise<void>
}

/** The login roles of the tests. */
export const logins = ['postgres', 'authenticator', 'garage_server', 'nested_server', 'login'] as const

const superuser = 'host all postgres 127.0.0.1/32 trust'

/** Makes a server require passwords with SCRAM, but not of the superuser. `query` runs SQL as the superuser. */
export async function requirePasswords(query: Query): Promise<PasswordLogins> {
  const password = 'correct horse, battery & staple'
  const writeRules = async (rules: readonly string[]): Promise<void> => {
    const [file] = await query('show hba_file')
    const lines = rules.map((rule) => `'${rule}'`).join(', ')
    await query(`copy (select unnest(array[${lines}])) to '${String(file?.hba_file)}'`)
    await query('select pg_reload_conf()')
  }
  await query("set password_encryption = 'scram-sha-256'")
  for (const login of logins) await query(`alter role ${login} password '${password}'`)
  const rows = await query('select rolname, rolpassword from pg_authid where rolpassword is not null')
  await writeRules([superuser, 'host all all 127.0.0.1/32 scram-sha-256'])
  return {
    password,
    verifiers: new Map(rows.map(({ rolname, rolpassword }) => [String(rolname), String(rolpassword)])),
    undo: () => writeRules(['host all all 127.0.0.1/32 trust', 'host replication all 127.0.0.1/32 trust']),
  }
}
