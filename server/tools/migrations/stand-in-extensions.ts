// Statements about the extensions pg_net and pg_cron, whose schemas this server provides where they are not installed.
import type { Client } from '../../postgres/connection/client.ts'

/** A function of each extension by which its schema is recognized. */
const functions: Readonly<Record<string, string>> = {
  pg_net: 'net.http_get(text, jsonb, jsonb, integer)',
  pg_cron: 'cron.schedule(text, text, text)',
}

const aboutExtension =
  /^(?:create|drop|alter|comment\s+on)\s+extension\s+(?:if\s+(?:not\s+)?exists\s+)?"?(pg_net|pg_cron)"?(?=[\s;]|$)/i

/** The extension with a stand-in that a statement creates, drops or changes. */
const extensionOf = (statement: string): string | undefined => aboutExtension.exec(statement)?.[1]?.toLowerCase()

/**
 * The extension that a statement creates, drops or changes, of which this server provides the functions instead: the
 * extension is not installed, and its schema exists. Undefined for all other statements.
 */
export async function standInFor(client: Client, statement: string): Promise<string | undefined> {
  const extension = extensionOf(statement)
  if (extension === undefined) return undefined
  const { rows } = await client.query<{ is_stand_in: boolean }>(
    `select to_regprocedure($2) is not null and not exists (select from pg_extension where extname = $1) as is_stand_in`,
    [extension, functions[extension]],
  )
  return rows[0]?.is_stand_in === true ? extension : undefined
}

/** The same for the statements of a dump, which are restored before this server migrates: the extension is not available. */
export async function unavailableStandIn(client: Client, statement: string): Promise<string | undefined> {
  const extension = extensionOf(statement)
  if (extension === undefined) return undefined
  const { rows } = await client.query('select from pg_available_extensions where name = $1', [extension])
  return rows.length === 0 ? extension : undefined
}

/** Says instead of running the statement that the server provides the functions. */
export const noticeStandIn = (extension: string): string =>
  `do $rowhouse$ begin raise notice '${extension} is not installed: the server provides its functions, and leaves this statement out'; end $rowhouse$`
