// Tables and views as a viewer sees them: the list, and the rows of one.
import { useState } from 'preact/hooks'
import type { ConsoleSchema } from '../../../services/console/schema-protocol.ts'
import { consoleApi } from '../../api.ts'
import { Empty, Loading, Problem, useLoaded } from '../../parts.tsx'
import { useRoute } from '../../router.ts'
import { RelationList } from './relation-list.tsx'
import { TableView } from './table-view.tsx'

export default function Tables() {
  const { path } = useRoute()
  const [, schema, name] = path
  const [others, setOthers] = useState<string>()
  const { value, error, reload } = useLoaded(
    () => consoleApi<ConsoleSchema>(`schema${others === undefined ? '' : `?schemas=${encodeURIComponent(others)}`}`),
    [others],
  )
  const isChosen = schema !== undefined && name !== undefined
  return (
    <div class={isChosen ? 'tables has-table' : 'tables'}>
      <aside aria-label="Tables">
        {!isChosen && <h1 class="visually-hidden">Tables</h1>}
        <Problem error={error} />
        {value ? (
          <RelationList
            schema={value}
            chosen={isChosen ? `${schema}.${name}` : undefined}
            shown={others}
            onShow={setOthers}
          />
        ) : (
          error === undefined && <Loading />
        )}
      </aside>
      <section>
        {isChosen && value ? (
          <TableView
            key={`${schema}.${name}`}
            schema={schema}
            name={name}
            isHiddenShown={path[3] === 'hidden'}
            all={value}
            onChanged={reload}
          />
        ) : (
          <Empty title="Choose a table">
            <p>You see its rows as the role or user that you choose at the top.</p>
          </Empty>
        )}
      </section>
    </div>
  )
}
