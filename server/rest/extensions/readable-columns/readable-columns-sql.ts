// The statement that checks, in the transaction of a request, which columns its role may read. It fails if these are not
// the columns of the plan, so that the statement of the plan does not run. GRANT and REVOKE send no notification, so
// that nothing else can tell whether a plan is still right.
import { randomBytes } from 'node:crypto'
import type { QualifiedIdentifier } from '../../../catalogue/identifier.ts'
import type { ApiError } from '../../errors.ts'
import type { Starred } from '../../plan/read-plan.ts'
import type { Statement } from '../../sql/fragment.ts'

/** The beginning of the message. It is random, so that no value of a request can imitate it. */
const marker = `columns-${randomBytes(16).toString('hex')}:`

const text = `select cast(case when found.relations = $1::jsonb then '1' else $2::text || found.relations::text end as integer)
from (
  select jsonb_agg(jsonb_build_array(r.schema, r.name, r.columns) order by r.number) as relations
  from (
    select e.number, e.value ->> 0 as schema, e.value ->> 1 as name,
      case when not bool_and(p.readable) and bool_or(p.readable)
        then jsonb_agg(a.attname order by a.attnum) filter (where p.readable)
      end as columns
    from jsonb_array_elements($1::jsonb) with ordinality as e (value, number)
    left join pg_catalog.pg_namespace n on n.nspname = e.value ->> 0
    left join pg_catalog.pg_class c on c.relnamespace = n.oid and c.relname = e.value ->> 1
    left join pg_catalog.pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
    cross join lateral (select pg_catalog.has_column_privilege(c.oid, a.attnum, 'SELECT') as readable) p
    group by e.number, e.value
  ) r
) found`

/** Checks the columns of relations for the role of the transaction. */
export const readableColumnsStatement = (starred: readonly Starred[]): Statement & { readonly hasNoEffect: true } => ({
  text,
  hasNoEffect: true,
  values: [JSON.stringify(starred.map(({ relation, columns }) => [relation.schema, relation.name, columns])), marker],
})

type Found = { readonly relation: QualifiedIdentifier; readonly columns: readonly string[] | null }

/** The columns that the role may read, if the error is that of the check; null for all or none. */
export function foundColumns({ code, message }: ApiError): readonly Found[] | undefined {
  const start = message.indexOf(marker)
  if (code !== invalidText || start < 0) return undefined
  // The words around the value depend on the language of the server's messages.
  const json = message.slice(start + marker.length, message.lastIndexOf(']') + 1)
  const relations = JSON.parse(json) as readonly (readonly [string, string, readonly string[] | null])[]
  return relations.map(([schema, name, columns]) => ({ relation: { schema, name }, columns }))
}

/** invalid_text_representation */
const invalidText = '22P02'
