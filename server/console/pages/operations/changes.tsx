// What was changed in the console.
import type { LogEntry } from '../../../services/console/operation-protocol.ts'
import { consoleApi } from '../../api.ts'
import { Button, Empty, Loading, Problem, Table, useLoaded } from '../../parts.tsx'
import { dateTimeText } from '../../values.tsx'

export function Changes() {
  const { value, error, isLoading, reload } = useLoaded(
    (signal) => consoleApi<readonly LogEntry[]>('operations/log', { signal }),
    [],
  )
  return (
    <>
      <div class="bar">
        <Button isBusy={isLoading} onClick={reload}>
          Refresh
        </Button>
        <span class="faint">
          The latest 200. Changes of rows and files are recorded before they are requested, with as whom.
        </span>
      </div>
      <Problem error={error} />
      {!value && error === undefined && <Loading />}
      {value?.length === 0 && <Empty title="Nothing was changed yet" />}
      {value && value.length > 0 && (
        <Table head={['When', 'Who', 'What', 'With']}>
          {value.map(({ id, at, actor, action, details }) => (
            <tr key={id}>
              <td class="faint">{dateTimeText(at)}</td>
              <td>{actor}</td>
              <td>{action}</td>
              <td>
                <code class="change">{JSON.stringify(details)}</code>
              </td>
            </tr>
          ))}
        </Table>
      )}
    </>
  )
}
