// Databases for one run: created on an existing server, copied from a template, and removed afterwards.
import { randomBytes } from 'node:crypto'
import type pg from 'pg'
import { sqlState } from './database-error.ts'
import { withClient, type Client } from './connection/client.ts'
import { connectionConfig, withDatabaseName, type Environment, type PoolConfig } from './connection/pool-config.ts'

/** A database of a run, which is removed with it. */
export type ThrowAwayDatabase = {
  readonly name: string
  /** Connects to it as the role that created it. */
  readonly connection: PoolConfig
  /** Removes it, and closes what is connected to it. May be called more than once. */
  readonly drop: () => Promise<void>
}

/** Creates the databases of one run. */
export type ThrowAwayDatabases = {
  /** Creates an empty database. */
  readonly create: () => Promise<ThrowAwayDatabase>
  /** Creates a copy. Nothing may be connected to the template meanwhile. */
  readonly clone: (template: ThrowAwayDatabase) => Promise<ThrowAwayDatabase>
  /** Names of the databases of earlier runs that were removed at the start. */
  readonly removed: readonly string[]
}

const prefix = 'rowhouse_throwaway_'
/** The name of a run is the prefix of its databases, and the `application_name` of the session that creates them. */
const databaseName = /^(rowhouse_throwaway_[0-9a-f]{12})_\d+$/

/**
 * Lends databases to `use`, and removes them afterwards. First removes the databases of earlier runs that were killed.
 *
 * Roles belong to the whole server: those that `use` creates remain.
 *
 * @param uri connection string of a role that may create databases, to any database of the server
 * @param env variables for options that are missing in it (`PGHOST`, …)
 * @throws Error with SQLSTATE 42501 when the role may not create databases; the error of the connection or of `use`
 */
export async function withThrowAwayDatabases<T>(
  uri: string,
  env: Environment,
  use: (databases: ThrowAwayDatabases) => Promise<T>,
): Promise<T> {
  const run = `${prefix}${randomBytes(6).toString('hex')}`
  const config = connectionConfig(uri, env)
  return withClient({ ...config, application_name: run }, async (admin) => {
    // A pooler may have replaced the name. Other runs recognise this one by it.
    await admin.query(`select set_config('application_name', $1, false)`, [run])
    const removed = await removeLeftovers(admin)
    const open = new Set<string>()
    // One connection runs one statement at a time, in the order of the calls.
    const create = async (template: string): Promise<ThrowAwayDatabase> => {
      const name = `${run}_${created++}`
      open.add(name)
      await admin.query(`create database ${name} template ${template}`)
      return {
        name,
        connection: withDatabaseName(config, name),
        drop: async () => {
          if (open.delete(name)) await drop(admin, name)
        },
      }
    }
    let created = 1
    try {
      return await use({
        // Objects that were added to template1 are not part of the project.
        create: () => create('template0'),
        clone: ({ name }) => create(name),
        removed,
      })
    } finally {
      for (const name of open) await drop(admin, name).catch(() => undefined)
    }
  })
}

const drop = (admin: Client, name: string): Promise<unknown> =>
  admin.query(`drop database if exists ${name} with (force)`)

/**
 * Removes databases whose run has ended without doing so, and that no session uses. The role can only remove databases
 * of roles that it is a member of, whose sessions it sees in `pg_stat_activity`.
 */
async function removeLeftovers(admin: pg.Client): Promise<readonly string[]> {
  const { rows } = await admin.query<{ name: string }>(
    `select datname as name from pg_catalog.pg_database
    where starts_with(datname, $1) and pg_catalog.pg_has_role(datdba, 'usage')
      and not exists (
        select from pg_catalog.pg_stat_activity
        where datid = pg_database.oid
          or (starts_with(pg_database.datname, application_name || '_') and application_name <> '')
      )
    order by 1`,
    [prefix],
  )
  const removed: string[] = []
  for (const { name } of rows) {
    if (!databaseName.test(name)) continue
    try {
      await admin.query(`drop database if exists ${name}`)
      removed.push(name)
    } catch (error) {
      // object_in_use: someone has connected in the meantime.
      if (sqlState(error) !== '55006') throw error
    }
  }
  return removed
}
