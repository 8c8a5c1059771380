// What a statement does, for its name in traces.
import type { PipelineStatement } from '../../../rest/database.ts'

/** UTF-16 units of a statement that are searched. */
const searched = 2000
const quoted = /"(?:[^"]|"")*"|'(?:[^']|'')*'/g
const write = /\b(insert into|update|delete from|merge into)\b/i

/**
 * `SELECT`, `INSERT`, `COMMIT` and the like. A `WITH` that writes has the name of its first write. The statement that sets the
 * role and the claims of a transaction is `request settings`.
 */
export function operationOf(statement: PipelineStatement): string {
  if ('checksSession' in statement) return 'request settings'
  const text = statement.text.slice(0, searched).trimStart()
  const word = (/^[a-z]+/i.exec(text)?.[0] ?? 'statement').toUpperCase()
  if (word !== 'WITH') return word
  const [found = 'SELECT'] = write.exec(text.replace(quoted, '""')) ?? []
  return (found.split(' ')[0] ?? found).toUpperCase()
}
