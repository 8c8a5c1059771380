// An execution plan of PostgreSQL as a tree to be shown: with the time of each node itself, and estimates that are far off.
// https://www.postgresql.org/docs/current/using-explain.html

export type PlanNode = {
  /** `Index Scan using notes_pkey` */
  readonly title: string
  /** The relation or function, if it reads one. */
  readonly on: string | null
  /** Conditions and the like, in the words of EXPLAIN. */
  readonly details: readonly (readonly [string, string])[]
  readonly estimatedRows: number
  /** Rows of all loops; null if the plan was not run. */
  readonly rows: number | null
  readonly loops: number
  /** Milliseconds of the node itself, without those below it; null if the plan was not run. */
  readonly time: number | null
  /** Its part of the whole time or cost, from 0 to 1. */
  readonly share: number
  /** By which factor the estimate is off, if it is far off. */
  readonly offBy: number | null
  readonly children: readonly PlanNode[]
}

export type PlanTree = {
  readonly root: PlanNode
  readonly planning: number | null
  readonly execution: number | null
}

type Raw = Readonly<Record<string, unknown>>

/** Estimates that are off by this factor are marked. */
const far = 10

const shownDetails = [
  'Index Cond',
  'Recheck Cond',
  'Hash Cond',
  'Merge Cond',
  'Join Filter',
  'Filter',
  'One-Time Filter',
  'Sort Key',
  'Group Key',
  'Rows Removed by Filter',
  'Rows Removed by Index Recheck',
  'Rows Removed by Join Filter',
  'Sort Method',
  'Heap Fetches',
  'Shared Hit Blocks',
  'Shared Read Blocks',
  'Temp Written Blocks',
] as const

const isRecord = (value: unknown): value is Raw => typeof value === 'object' && value !== null && !Array.isArray(value)
const numberOf = (value: unknown): number | null => (typeof value === 'number' ? value : null)
const textOf = (value: unknown): string | null => (typeof value === 'string' ? value : null)

/** @returns undefined for what is no plan */
export function planTree(plan: unknown): PlanTree | undefined {
  const document: unknown = Array.isArray(plan) ? plan[0] : plan
  if (!isRecord(document) || !isRecord(document.Plan)) return undefined
  const whole = totalTime(document.Plan) ?? numberOf(document.Plan['Total Cost']) ?? 0
  return {
    root: nodeOf(document.Plan, whole),
    planning: numberOf(document['Planning Time']),
    execution: numberOf(document['Execution Time']),
  }
}

const childrenOf = (node: Raw): readonly Raw[] => (Array.isArray(node.Plans) ? node.Plans.filter(isRecord) : [])

/** PostgreSQL gives the average of the loops. */
function totalTime(node: Raw): number | null {
  const time = numberOf(node['Actual Total Time'])
  return time === null ? null : time * (numberOf(node['Actual Loops']) ?? 1)
}

function nodeOf(node: Raw, whole: number): PlanNode {
  const children = childrenOf(node)
  const loops = numberOf(node['Actual Loops']) ?? 1
  const perLoop = numberOf(node['Actual Rows'])
  const estimatedRows = numberOf(node['Plan Rows']) ?? 0
  const total = totalTime(node)
  const below = children.reduce((sum, child) => sum + (totalTime(child) ?? 0), 0)
  const time = total === null ? null : Math.max(0, total - below)
  const costBelow = children.reduce((sum, child) => sum + (numberOf(child['Total Cost']) ?? 0), 0)
  const own = time ?? Math.max(0, (numberOf(node['Total Cost']) ?? 0) - costBelow)
  return {
    title: titleOf(node),
    on: relationOf(node),
    details: shownDetails.flatMap((name) => {
      const value = node[name]
      if (value === undefined || value === 0) return []
      return [
        [
          name,
          Array.isArray(value) ? value.join(', ') : typeof value === 'string' ? value : JSON.stringify(value),
        ] as const,
      ]
    }),
    estimatedRows,
    rows: perLoop === null ? null : Math.round(perLoop * loops),
    loops,
    time,
    share: whole > 0 ? Math.min(1, own / whole) : 0,
    offBy: loops > 0 && perLoop !== null ? factor(estimatedRows, perLoop) : null,
    children: children.map((child) => nodeOf(child, whole)),
  }
}

function titleOf(node: Raw): string {
  const parts = [textOf(node['Join Type']), textOf(node['Node Type']) ?? 'Plan']
  const title = parts.filter((part) => part !== null && part !== 'Inner').join(' ')
  const index = textOf(node['Index Name'])
  const operation = textOf(node.Operation)
  return `${operation ?? title}${index === null ? '' : ` using ${index}`}`
}

function relationOf(node: Raw): string | null {
  const name = textOf(node['Relation Name']) ?? textOf(node['Function Name']) ?? textOf(node['CTE Name'])
  const alias = textOf(node.Alias)
  return name === null ? null : alias === null || alias === name ? name : `${name} ${alias}`
}

function factor(estimated: number, actual: number): number | null {
  const [low, high] = [Math.max(1, Math.min(estimated, actual)), Math.max(1, estimated, actual)]
  const by = high / low
  return by >= far ? Math.round(by) : null
}
