// Functions: whether they compile, their calls and logs, and calling one as the viewer.
import type { FunctionReport } from '../../../services/console/function-protocol.ts'
import { consoleApi } from '../../api.ts'
import { Empty, Loading, Problem } from '../../parts.tsx'
import { usePolled } from '../../polling.ts'
import { href, useRoute } from '../../router.ts'
import { FunctionDetails } from './function-details.tsx'
import { FunctionList } from './function-list.tsx'

/** Milliseconds between two looks. */
const pauseTime = 3000

export default function Functions() {
  const { path } = useRoute()
  const name = path[1]
  const { value, error } = usePolled((signal) => consoleApi<FunctionReport>('functions', { signal }), [], pauseTime)
  const found = value?.functions.find((it) => it.name === name)
  return (
    <div class="functions">
      <h1>{name === undefined ? 'Functions' : `Function ${name}`}</h1>
      {name !== undefined && (
        <p>
          <a href={href(['functions'])}>All functions</a>
        </p>
      )}
      <Problem error={error} />
      {!value && error === undefined && <Loading text="Reading and compiling functions …" />}
      {value && name === undefined && <FunctionList report={value} />}
      {value && name !== undefined && !found && (
        <Empty title={`There is no function ${name}`}>
          <a href={href(['functions'])}>All functions</a>
        </Empty>
      )}
      {found && <FunctionDetails key={found.name} entry={found} />}
    </div>
  )
}
