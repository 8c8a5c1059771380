// Changes that no viewer may subscribe to, mostly because the table is not in the publication.
import { identifier } from '../../../text/sql-text.ts'
import { Statement } from '../../sql-statement.tsx'
import type { Wish } from './watch.ts'

type Props = Pick<Wish, 'schema' | 'table'> & {
  /** Subscribes again. */
  readonly onAdded: () => void
}

export const Unpublished = ({ schema, table, onAdded }: Props) => (
  <section class="card">
    <h2>No changes will arrive</h2>
    <p>
      Only changes of tables in the publication <code>supabase_realtime</code> are sent, to those who may read the rows.
      This adds the table:
    </p>
    <Statement
      sql={`alter publication supabase_realtime add table ${identifier(schema)}.${identifier(table)};`}
      suggestion={`publish ${table}`}
      onRun={onAdded}
      onClose={onAdded}
    />
  </section>
)
