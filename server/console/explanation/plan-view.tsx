// Shows an execution plan as a tree.
import { Badge } from '../parts.tsx'
import { countText } from '../values.tsx'
import { planTree, type PlanNode } from './plan.ts'

export function PlanView({ plan }: { readonly plan: unknown }) {
  const tree = planTree(plan)
  if (!tree) return null
  const times = [
    tree.planning === null ? null : `planned in ${milliseconds(tree.planning)}`,
    tree.execution === null ? null : `run in ${milliseconds(tree.execution)}`,
  ].filter((text) => text !== null)
  return (
    <div class="plan">
      {times.length > 0 && <p class="faint small">{times.join(', ')}</p>}
      <ul class="plan-tree">
        <Node node={tree.root} />
      </ul>
    </div>
  )
}

const Node = ({ node }: { readonly node: PlanNode }) => (
  <li>
    <div class="plan-node">
      <div class="plan-share" style={{ width: `${Math.round(node.share * 100)}%` }} />
      <p>
        <strong>{node.title}</strong>
        {node.on !== null && (
          <>
            {' '}
            on <code>{node.on}</code>
          </>
        )}{' '}
        <span class="faint">
          {node.rows === null
            ? `about ${countText(node.estimatedRows, 'row')}`
            : `${countText(node.rows, 'row')}${node.loops > 1 ? ` in ${node.loops} loops` : ''}`}
          {node.time !== null && `, ${milliseconds(node.time)}`}
        </span>{' '}
        {node.offBy !== null && (
          <Badge kind="warning" title={`Estimated: ${countText(node.estimatedRows, 'row')} per loop`}>
            estimate off ×{node.offBy}
          </Badge>
        )}
        {node.loops === 0 && <Badge>never run</Badge>}
      </p>
      {node.details.map(([name, value]) => (
        <p key={name} class="small">
          <span class="faint">{name}:</span> <code>{value}</code>
        </p>
      ))}
    </div>
    {node.children.length > 0 && (
      <ul>
        {node.children.map((child, index) => (
          <Node key={index} node={child} />
        ))}
      </ul>
    )}
  </li>
)

/** A time for people. */
export const milliseconds = (time: number): string => {
  if (time >= 1000) return `${(time / 1000).toFixed(2)} s`
  return `${time < 10 ? time.toFixed(2) : time.toFixed(0)} ms`
}
