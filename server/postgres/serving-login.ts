// The migrations create the login role of the server without a password. `migrateForServing` then sets the password
// that the server's connection string has, so that the server can connect right after `migrate`.
import pg from 'pg'
import type { PoolConfig } from './connection/pool-config.ts'
import { withClient } from './connection/client.ts'
import { isLoginRefused, sqlState } from './database-error.ts'
import { migrate, type MigrationOptions } from './migrate.ts'
import { scramVerifier } from './scram-verifier.ts'

export type ServingLogin =
  /** The server can connect. */
  | { readonly kind: 'works' }
  /** The role had no password; it now has that of the connection string. */
  | { readonly kind: 'password set'; readonly role: string }
  /** The server cannot connect until the administrator follows `advice`. */
  | { readonly kind: 'refused'; readonly advice: string }

/** Messages for the user of `migrate`; none when the server can already connect. */
export function describeLogin(login: ServingLogin, setting: string): readonly string[] {
  switch (login.kind) {
    case 'works':
      return []
    case 'password set':
      return [`Set the password of the role ${login.role} to the one in ${setting}.`]
    case 'refused':
      return [login.advice]
    default:
      return login satisfies never
  }
}

export type Serving = {
  /** How the server connects; undefined when no setting says so. */
  readonly connection: PoolConfig | undefined
  /** Name of the setting, as the user wrote it: `DATABASE_URL`. */
  readonly setting: string
}

/** The login role that the migrations create for the server. */
const defaultRole = 'authenticator'

/**
 * Applies the migrations, then makes sure that the server can connect. Never changes an existing password, and never
 * sets the password of a role that manages the cluster, such as a superuser.
 *
 * @param owner a connected client of the role that migrates
 * @throws what `migrate` throws
 */
export async function migrateForServing(
  owner: pg.Client,
  serving: Serving,
  options: MigrationOptions = {},
): Promise<{ readonly applied: readonly string[]; readonly login: ServingLogin }> {
  const role = serving.connection?.plan.user ?? defaultRole
  const existed = await exists(owner, role)
  const { applied } = await migrate(owner, options)
  return { applied, login: await prepareLogin(owner, serving, role, existed) }
}

async function prepareLogin(
  owner: pg.Client,
  { connection, setting }: Serving,
  role: string,
  existed: boolean,
): Promise<ServingLogin> {
  if (connection === undefined) {
    if (!(await lacksPassword(owner, role, existed))) return { kind: 'works' }
    return {
      kind: 'refused',
      advice: `The role ${role} has no password yet. Run this again with ${setting} set, or set one: ${line(role)}`,
    }
  }
  const refusal = await tryLogin(connection)
  if (refusal === undefined) return { kind: 'works' }
  if (refusal.kind === 'other') {
    return { kind: 'refused', advice: `The connection in ${setting} does not work: ${refusal.message}` }
  }
  if (!(await exists(owner, role))) {
    return {
      kind: 'refused',
      advice: `${setting} names the role ${role}, which does not exist. The migrations create the role ${defaultRole} for it.`,
    }
  }
  const { password } = connection.plan
  if (password === undefined) {
    return { kind: 'refused', advice: `${setting} has no password for the role ${role}, but the server asks for one.` }
  }
  const isSet =
    (await isOrdinary(owner, role)) &&
    (await lacksPassword(owner, role, existed)) &&
    (await setPassword(owner, role, await scramVerifier(password)))
  // Even if it was not set here: another process that migrates may have set it meanwhile.
  if ((await tryLogin(connection)) === undefined) return isSet ? { kind: 'password set', role } : { kind: 'works' }
  return {
    kind: 'refused',
    advice: `The role ${role} cannot sign in with the password in ${setting}. A superuser can set it: ${line(role)}`,
  }
}

const line = (role: string): string => `alter role ${pg.escapeIdentifier(role)} password '…';`

async function exists(owner: pg.Client, role: string): Promise<boolean> {
  return (await owner.query('select from pg_catalog.pg_roles where rolname = $1', [role])).rowCount === 1
}

/**
 * Whether a role has no attribute that lets it manage the cluster. Such a role may lack a password on purpose.
 */
async function isOrdinary(owner: pg.Client, role: string): Promise<boolean> {
  const { rowCount } = await owner.query(
    `select from pg_catalog.pg_roles where rolname = $1
       and not (rolsuper or rolcreaterole or rolcreatedb or rolreplication or rolbypassrls)`,
    [role],
  )
  return rowCount === 1
}

/** Whether a role has no password. Only superusers can see that; for others, false unless the role is new. */
async function lacksPassword(owner: pg.Client, role: string, existed: boolean): Promise<boolean> {
  if (!existed) return true
  try {
    const { rowCount } = await owner.query(
      'select from pg_catalog.pg_authid where rolname = $1 and rolpassword is null',
      [role],
    )
    return rowCount === 1
  } catch (error) {
    if (isForbidden(error)) return false
    throw error
  }
}

/** Sets a password. False when the role that migrates lacks the privilege. */
async function setPassword(owner: pg.Client, role: string, verifier: string): Promise<boolean> {
  try {
    await owner.query(`alter role ${pg.escapeIdentifier(role)} password ${pg.escapeLiteral(verifier)}`)
    return true
  } catch (error) {
    if (isForbidden(error)) return false
    // Another process has just set it: "tuple concurrently updated". The next login shows whether it is the same one.
    if (sqlState(error) === 'XX000') return true
    throw error
  }
}

type Refusal = { readonly kind: 'password' } | { readonly kind: 'other'; readonly message: string }

async function tryLogin(connection: PoolConfig): Promise<Refusal | undefined> {
  try {
    await withClient(connection, (client) => client.query('select 1'))
    return undefined
  } catch (error) {
    // PostgreSQL reports the same error for a role that does not exist.
    if (isLoginRefused(error)) return { kind: 'password' }
    return { kind: 'other', message: error instanceof Error ? error.message : String(error) }
  }
}

/** insufficient_privilege */
const isForbidden = (error: unknown): boolean => sqlState(error) === '42501'
