// Extensions that migrations of Supabase projects create, and whose schemas the server has: pg_cron and pg_net. Without their files on
// the machine of the database, the statement would fail, and is left out.
import type { Client } from '../../postgres/connection/client.ts'
import type { SqlStatement } from '../../text/sql-statements.ts'

/** The schemas that extensions create. */
const schemas: Readonly<Record<string, string>> = { pg_cron: 'cron', pg_net: 'net' }

const creation = /\bcreate\s+extension\s+(?:if\s+not\s+exists\s+)?"?(pg_cron|pg_net)(?![\w$])/i

/** Whether a statement creates an extension that is not on the machine, and whose schema the server has. A notice says so. */
export async function isReplacedExtension(client: Client, { words, text }: SqlStatement): Promise<boolean> {
  if (words[0] !== 'create' || words[1] !== 'extension') return false
  const [, name = ''] = creation.exec(text) ?? []
  const schema = schemas[name.toLowerCase()]
  if (schema === undefined) return false
  const { rows } = await client.query<{ replaced: boolean }>(
    `select to_regnamespace($2) is not null
       and not exists (select from pg_catalog.pg_available_extensions where name = $1) as replaced`,
    [name.toLowerCase(), schema],
  )
  if (rows[0]?.replaced !== true) return false
  await client.query(
    `do $$ begin raise notice 'the extension ${name} is not available: the schema ${schema} of the server takes its place'; end $$`,
  )
  return true
}
