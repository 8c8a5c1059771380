// What became of a call.
import type { CallState } from '../../../services/console/webhook-protocol.ts'
import { Badge } from '../../parts.tsx'

const kinds = { waiting: 'plain', sending: 'plain', delivered: 'good', dead: 'bad' } as const
const words = { waiting: 'waiting', sending: 'being sent', delivered: 'delivered', dead: 'put aside' } as const

export const StateBadge = ({ state }: { readonly state: CallState }) => (
  <Badge kind={kinds[state]}>{words[state]}</Badge>
)
