// Reports: prices of vehicles with their estimates, and the queue of administrators.
import { Tabs } from '../../parts.tsx'
import { go, useRoute } from '../../router.ts'
import { restPathOf } from '../../rest/relation.ts'
import { useSession } from '../../session.tsx'
import { useViewer } from '../../viewer.tsx'
import { Market } from './market.tsx'
import { Queue } from './queue.tsx'

const tabs = [
  { key: 'prices', label: 'Prices' },
  { key: 'queue', label: 'Queue' },
] as const

export default function Reports() {
  const { path } = useRoute()
  const { restPath } = useSession()
  const { viewer } = useViewer()
  const rest = (resource: string): string => restPathOf(restPath, resource)
  const isQueue = path[1] === 'queue'
  return (
    <div class="reports">
      <h1>Reports</h1>
      <Tabs
        label="What to show"
        tabs={tabs}
        chosen={isQueue ? 'queue' : 'prices'}
        onChoose={(key) => go(key === 'queue' ? ['reports', 'queue'] : ['reports'])}
      />
      {isQueue ? <Queue viewer={viewer} rest={rest} /> : <Market viewer={viewer} rest={rest} />}
    </div>
  )
}
