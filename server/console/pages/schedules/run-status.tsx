// How a run has ended.
import { Badge } from '../../parts.tsx'

const kinds = { succeeded: 'good', failed: 'bad', running: 'warning', starting: 'plain' } as const

const isKnown = (status: string): status is keyof typeof kinds => Object.hasOwn(kinds, status)

export const RunStatus = ({ status }: { readonly status: string }) => (
  <Badge kind={isKnown(status) ? kinds[status] : 'plain'}>{status}</Badge>
)
