// Adds the sample data of `sql/sample`.
import { randomBytes } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { withClient, type Client } from '../../postgres/connection/client.ts'
import { toPoolConfig } from '../../running/connection-setting.ts'
import type { ServedDatabase } from '../../running/serve-tools.ts'
import { hashPassword } from '../../services/accounts/password-hash.ts'
import { CommandError } from './command-error.ts'
import type { SampleCounts } from './dependencies.ts'

/** The same relative path is valid from `server/tools/command-line/` and from the compiled file. */
const folder = new URL('../../../sql/sample/', import.meta.url)

/**
 * Adds missing sample data in one transaction.
 *
 * @param client connected as the owner of the schema
 * @param email account that owns the classification runs; defaults to the development user, if there is one
 * @returns how many rows were added
 * @throws CommandError when no account has that address
 */
export async function addSampleData(client: Client, email: string | undefined): Promise<SampleCounts> {
  const passwordHash = hashPassword(randomBytes(32).toString('base64url'))
  await client.query('begin')
  try {
    const owner = await findOwner(client, email)
    const accounts = await insert(client, 'accounts', passwordHash)
    const reports = await insert(client, 'reports')
    const runs = owner === null ? 0 : await insert(client, 'runs', owner)
    await client.query('commit')
    return { accounts, reports, runs, hasOwner: owner !== null }
  } catch (error) {
    await client.query('rollback').catch(() => undefined)
    throw error
  }
}

/** Whether the migrations of all services with sample data were applied: one row with the column `are_there`. */
export const sampleTables = `
  select to_regprocedure('rowhouse.vehicle_key(text, text)') is not null
    and to_regclass('public.classification_runs') is not null as are_there`

/** The results of `serve --sample`. */
const startMessages = {
  added: 'Added the sample data',
  'not empty': 'Added no sample data: the database has data of its own, or had the sample data before',
  'lacks migrations': 'Added no sample data: the database lacks migrations',
} as const

/** Fills an empty database when `serve --sample` has started, and says so. */
export async function addSampleAtStart({ owner, env, log }: ServedDatabase): Promise<void> {
  const outcome = await withClient(toPoolConfig(owner, env), fillEmptyDatabase)
  log.write({ kind: outcome === 'lacks migrations' ? 'warning' : 'sample-data', message: startMessages[outcome] })
}

/**
 * Adds the sample data to a database that has neither reports nor classification runs, and never had the sample accounts.
 * Deleted sample rows do not return at the next start.
 *
 * @param client connected as the owner of the schema
 */
export async function fillEmptyDatabase(client: Client): Promise<keyof typeof startMessages> {
  const { rows: migrations } = await client.query<{ are_there: boolean }>(sampleTables)
  if (migrations[0]?.are_there !== true) return 'lacks migrations'
  const { rowCount } = await client.query(`
    select where exists (select from public.reports) or exists (select from public.classification_runs)
      or exists (select from auth.users where email::text like 'sample-%@example.com')`)
  if (rowCount !== 0) return 'not empty'
  await addSampleData(client, undefined)
  return 'added'
}

async function insert(client: Client, name: string, ...values: string[]): Promise<number> {
  const text = await readFile(new URL(`${name}.sql`, folder), 'utf8')
  return (await client.query(text, values)).rowCount ?? 0
}

async function findOwner(client: Client, email: string | undefined): Promise<string | null> {
  const { rows } = await client.query<{ id: string }>(
    email === undefined
      ? `select id from auth.users where email::text like 'developer%@example.com' order by created_at desc limit 1`
      : 'select id from auth.users where lower(email::text collate "C") = lower($1 collate "C")',
    email === undefined ? [] : [email],
  )
  if (email !== undefined && !rows[0]) throw new CommandError(`There is no account with the address ${email}.`)
  return rows[0]?.id ?? null
}
