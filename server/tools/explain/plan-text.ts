// Prints an execution plan of EXPLAIN (FORMAT JSON) as a tree.
import { printable, wrap } from '../command-line/text-table.ts'

type PlanNode = Readonly<Record<string, unknown>> & { readonly Plans?: readonly PlanNode[] }

const conditions = ['Index Cond', 'Recheck Cond', 'Hash Cond', 'Merge Cond', 'Join Filter', 'Filter', 'One-Time Filter']

/** @param width columns of the terminal */
export function planText(plan: unknown, width: number): string[] {
  const [document] = Array.isArray(plan) ? (plan as PlanNode[]) : []
  const root = document?.Plan as PlanNode | undefined
  if (!document || !root) return []
  return [
    `planned in ${time(document['Planning Time'])}, executed in ${time(document['Execution Time'])}; ${buffers(root)}`,
    ...nodeText(root, 0, width),
  ]
}

const time = (value: unknown): string => `${Number(value ?? 0).toFixed(2)} ms`

const buffers = (node: PlanNode): string =>
  `buffers: ${Number(node['Shared Hit Blocks'] ?? 0)} in memory, ${Number(node['Shared Read Blocks'] ?? 0)} read`

const textOf = (value: unknown): string => (typeof value === 'string' ? printable(value) : '')

function nodeText(node: PlanNode, depth: number, width: number): string[] {
  const indent = ' '.repeat(Math.min(depth * 2, 40))
  const name = [
    textOf(node['Subplan Name']) === '' ? '' : `${textOf(node['Subplan Name'])}:`,
    textOf(node['Node Type']),
    node['Index Name'] === undefined ? '' : `using ${textOf(node['Index Name'])}`,
    node['Relation Name'] === undefined ? '' : `on ${textOf(node['Relation Name'])}`,
    node['Function Name'] === undefined ? '' : `on ${textOf(node['Function Name'])}`,
  ]
  const loops = Number(node['Actual Loops'] ?? 1)
  const rows = `${Number(node['Actual Rows'] ?? 0)} rows in ${time(node['Actual Total Time'])}`
  const measured = loops === 0 ? '(never run)' : `(${rows}${loops === 1 ? '' : `, ${loops} times`}; ${buffers(node)})`
  const removed = Number(node['Rows Removed by Filter'] ?? 0)
  const inner = width - indent.length - 4
  const details = [
    ...conditions.filter((kind) => node[kind] !== undefined).map((kind) => `${kind}: ${textOf(node[kind])}`),
    ...(removed > 0 ? [`rows removed by the filter: ${removed}`] : []),
  ]
  const lines = [
    ...wrap(`- ${name.filter((part) => part !== '').join(' ')} ${measured}`, inner + 4),
    ...details.flatMap((line) => wrap(line, inner).map((part) => `    ${part}`)),
  ]
  return [
    ...lines.map((line) => indent + line),
    ...(node.Plans ?? []).flatMap((child) => nodeText(child, depth + 1, width)),
  ]
}
