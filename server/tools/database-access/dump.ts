// Writes a database to plain SQL, as pg_dump and pg_dumpall do, from one snapshot. pg_dump writes the schema; rows are
// streamed with COPY, so memory does not grow with the database.
import { once } from 'node:events'
import type { Writable } from 'node:stream'
import type { Client } from '../../postgres/connection/client.ts'
import { runSimple } from '../../postgres/connection/simple-statement.ts'
import {
  largeObjectsSql,
  membershipsSql,
  rolesSql,
  sequencesSql,
  settingsSql,
  sharedCommentsSql,
  tablesSql,
  type DumpedTable,
  type SqlRow,
} from './dump-sql.ts'

/** Runs pg_dump on a connection of its own. Returns its output. */
export type RunPgDump = (args: readonly string[]) => Promise<string>

export type DumpCounts = { readonly tables: number; readonly rows: number }

/** The first line of a dump begins with this text. */
export const dumpHeader = '-- rowhouse dump'
/** The last line of a complete dump. */
export const dumpEnd = '-- rowhouse dump complete'

/** Bytes of a large object per statement. */
const objectPart = 256 * 1024

/**
 * Writes everything in the database, and the roles of its cluster. Waits whenever the output is full.
 *
 * @param client a connection without a transaction, whose role can read everything
 * @throws Error of the database, of pg_dump or of the output
 */
export async function dumpDatabase(client: Client, output: Writable, runPgDump: RunPgDump): Promise<DumpCounts> {
  const write = async (text: string): Promise<void> => {
    if (text !== '' && !output.write(text)) await once(output, 'drain')
  }
  const sqlOf = async (text: string): Promise<string> =>
    (await client.query<SqlRow>(text)).rows.map(({ sql }) => sql).join('')
  await client.query('begin isolation level repeatable read, read only')
  try {
    // As pg_dump sets them: values are written so that every server reads them in the same way.
    await client.query(`
      set local search_path = ''; set local row_security = off; set local datestyle = iso; set local intervalstyle = postgres;
      set local extra_float_digits = 3; set local timezone = 'UTC'; set local statement_timeout = 0; set local lock_timeout = 0`)
    const { version, versionNumber, isSuperuser, snapshot } = await session(client)
    const tables = (await client.query<DumpedTable>(tablesSql)).rows
    // Otherwise a table could be dropped or rewritten before its rows are read.
    for (let index = 0; index < tables.length; index += 100) {
      const names = tables.slice(index, index + 100).map(({ name }) => name)
      await client.query(`lock table ${names.join(', ')} in access share mode`)
    }
    const [before, after] = [
      await runPgDump(['--section=pre-data', `--snapshot=${snapshot}`]),
      await runPgDump(['--section=post-data', `--snapshot=${snapshot}`]),
    ]
    await write(`${dumpHeader} of PostgreSQL ${version}\n`)
    await write('-- Restore it with `rowhouse restore FILE`, or psql -1 -v ON_ERROR_STOP=1 -f FILE\n\n')
    await write(await sqlOf(rolesSql(isSuperuser)))
    await write(await sqlOf(membershipsSql(versionNumber)))
    await write(await sqlOf(settingsSql))
    await write(await sqlOf(sharedCommentsSql))
    await write(`\n${before}\n`)
    let rows = 0
    for (const table of tables) rows += await writeRows(client, table, output)
    await write(await sequences(client))
    await writeLargeObjects(client, write)
    await write(`\n${after}\n${dumpEnd}\n`)
    return { tables: tables.length, rows }
  } finally {
    await client.query('rollback').catch(() => undefined)
  }
}

type Session = {
  readonly version: string
  readonly versionNumber: number
  readonly isSuperuser: boolean
  readonly snapshot: string
}

async function session(client: Client): Promise<Session> {
  const { rows } = await client.query<Session>(
    `select current_setting('server_version') as version, current_setting('server_version_num')::integer as "versionNumber",
       (select rolsuper from pg_roles where rolname = current_user) as "isSuperuser", pg_export_snapshot() as snapshot`,
  )
  const [row] = rows
  if (!row) throw new Error('the server did not describe the session')
  return row
}

/** @returns the number of rows */
async function writeRows(client: Client, { name, columns, condition }: DumpedTable, output: Writable): Promise<number> {
  const list = columns.length === 0 ? '' : ` (${columns.join(', ')})`
  const source = condition === '' ? `${name}${list}` : `(select ${columns.join(', ')} from only ${name} ${condition})`
  let rows = 0
  output.write(`COPY ${name}${list} FROM stdin;\n`)
  await runSimple(client, `copy ${source} to stdout`, (writeTo) => ({
    onCopyData: (chunk) => writeTo(output, chunk),
    onComplete: (tag) => (rows = Number(tag.slice('COPY '.length))),
  }))
  output.write('\\.\n\n')
  return rows
}

async function sequences(client: Client): Promise<string> {
  const { rows } = await client.query<{ name: string }>(sequencesSql)
  const statements: string[] = []
  for (const { name } of rows) {
    const { rows: found } = await client.query<SqlRow>(
      `select format('SELECT pg_catalog.setval(%L, %s, %L);', $1::text, last_value, is_called) as sql from ${name}`,
      [name],
    )
    statements.push(...found.map(({ sql }) => `${sql}\n`))
  }
  return statements.join('')
}

async function writeLargeObjects(client: Client, write: (text: string) => Promise<void>): Promise<void> {
  const { rows } = await client.query<SqlRow & { oid: string }>(largeObjectsSql)
  for (const { oid, sql } of rows) {
    await write(`SELECT pg_catalog.lo_create(${oid});\n${sql}`)
    for (let offset = 0; ; offset += objectPart) {
      const { rows: parts } = await client.query<{ bytes: string }>(
        "select encode(lo_get($1::oid, $2::bigint, $3::integer), 'hex') as bytes",
        [oid, offset, objectPart],
      )
      const bytes = parts[0]?.bytes ?? ''
      if (bytes === '') break
      await write(`SELECT pg_catalog.lo_put(${oid}, ${offset}, '\\x${bytes}');\n`)
    }
  }
}
