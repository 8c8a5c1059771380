// Removes values from execution plans: the planner writes the parameters of a statement into its conditions.

/** Keys of EXPLAIN (FORMAT JSON) whose texts are names of tables, indexes and operations. All other texts may have values. */
const names = new Set([
  'Node Type',
  'Parent Relationship',
  'Subplan Name',
  'Relation Name',
  'Schema',
  'Alias',
  'Index Name',
  'Function Name',
  'Table Function Name',
  'CTE Name',
  'Tuplestore Name',
  'Operation',
  'Strategy',
  'Partial Mode',
  'Join Type',
  'Scan Direction',
  'Command',
  'Conflict Resolution',
])

const literal = /"(?:[^"]|"")*"|'(?:[^']|'')*'|(?<![\w$.])\d+(?:\.\d+)?(?:e[+-]?\d+)?|\b(?:true|false)\b/gi

/** An expression with `?` in place of its constants. Quoted names stay. */
const redactText = (text: string): string => text.replace(literal, (found) => (found.startsWith('"') ? found : '?'))

/** A plan with `?` in place of constants. Estimates of the planner stay. */
export function redactPlan(plan: unknown, key = ''): unknown {
  if (typeof plan === 'string') return names.has(key) ? plan : redactText(plan)
  if (Array.isArray(plan)) return plan.map((part) => redactPlan(part, key))
  if (typeof plan !== 'object' || plan === null) return plan
  return Object.fromEntries(Object.entries(plan).map(([name, part]) => [name, redactPlan(part, name)]))
}
