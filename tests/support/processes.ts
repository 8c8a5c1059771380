// Several processes of the program on one database, as behind a balancer.
import { createHash, generateKeyPairSync, randomUUID } from 'node:crypto'
import type { Test } from 'tap'
import type { TestDatabase } from './database.ts'
import { says, startProgram, type Program } from './program.ts'
import { readmeSection } from './readme-section.ts'

/** Starts processes with the same settings, and waits until all are ready. */
export async function startProcesses(
  t: Pick<Test, 'teardown'>,
  environments: readonly Readonly<Record<string, string>>[],
): Promise<readonly Program[]> {
  const programs = environments.map((env) => startProgram(t, env))
  await Promise.all(
    programs.map(async (program) => {
      await program.line(says('listening'))
      while ((await program.call('GET', '/ready')).status !== 200) await new Promise((resume) => setTimeout(resume, 20))
    }),
  )
  return programs
}

type Key = Readonly<Record<string, unknown>>

/** A new private key for access tokens, which may sign. */
export const newSigningKey = (): Key => ({
  ...generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey.export({ format: 'jwk' }),
  kid: randomUUID(),
  alg: 'ES256',
  use: 'sig',
  key_ops: ['sign', 'verify'],
})

export const onlyVerifying = (key: Key): Key => ({ ...key, key_ops: ['verify'] })

/** The setting that makes processes read their keys from the database. */
export const keysFromDatabase = { PGRST_DB_PRE_CONFIG: 'private.load_settings' }

/** SQL of the function in that setting, and of its table. */
export const keysSql = readmeSection('keys-sql')

/** Stores keys, and returns when all processes have read them. */
export async function publishKeys(
  database: TestDatabase,
  keys: readonly Key[],
  programs: readonly Program[],
): Promise<void> {
  const before = programs.map(({ logged }) => logged().length)
  await database.query('delete from private.jwt_keys')
  await database.query('insert into private.jwt_keys values ($1)', [JSON.stringify(keys)])
  if (programs.length === 0) return
  await database.query("notify pgrst, 'reload config'")
  await Promise.all(programs.map(({ line }, index) => line(says('config-reloaded'), before[index])))
}

/** The challenge of a PKCE verifier (RFC 7636). */
export const challengeOf = (verifier: string): string => createHash('sha256').update(verifier).digest('base64url')
