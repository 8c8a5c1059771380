// Formats the result of `check` as a table of at most 120 characters per line.
import { isInternalRole } from '../../identity/internal-role.ts'
import { callersOf, describeFinding, type Checked } from '../check/exposure-findings.ts'
import { commands, type ExposedFunction, type ExposedRelation, type RelationRole } from '../check/exposure.ts'
import { fitted, printable, textRow, wrap, type TextColumn } from './text-table.ts'

const columns: readonly TextColumn[] = [
  { title: 'EXPOSED', width: 32 },
  { title: 'KIND', width: 8 },
  { title: 'RLS', width: 3 },
  { title: 'ROLE', width: 15, isWhole: true },
  { title: 'GRANTED', width: 29 },
  { title: 'POLICIES', width: 23 },
]
const fullWidth = 120

type Block = { readonly rows: readonly (readonly string[])[]; readonly findings: readonly string[] }

/** A table of all exposed objects with their roles, except the server's own, and findings, and a summary. */
export function exposureTable(all: readonly Checked[]): string {
  const checked = all.map(withoutInternalRoles)
  const [bundled, single] = bundleExtensions(checked)
  const blocks = [...single.map(blockOf), ...bundled]
  const widths = fitted(
    columns,
    blocks.flatMap(({ rows }) => rows),
    fullWidth,
  )
  const lines = blocks.flatMap(({ rows, findings }) => [
    ...rows.flatMap((row) => textRow(widths, row)),
    ...findings.flatMap((finding) =>
      wrap(finding, fullWidth - 4).map((line, index) => (index ? '    ' : '  ! ') + line),
    ),
  ])
  const titles = textRow(
    widths,
    widths.map(({ title }) => title),
  )
  return [...titles, ...lines, '', ...summary(checked)].join('\n')
}

/** No request has one of these roles. */
const withoutInternalRoles = (object: Checked): Checked =>
  object.kind === 'function'
    ? { ...object, roles: object.roles.filter(({ name }) => !isInternalRole(name)) }
    : { ...object, roles: object.roles.filter(({ name }) => !isInternalRole(name)) }

/** One line instead of the table. */
export function exposureSummary(checked: readonly Checked[]): string {
  const of = (wanted: boolean): number => checked.filter(({ kind }) => (kind === 'function') === wanted).length
  const counted = (number: number, one: string): string => `${number} ${one}${number === 1 ? '' : 's'}`
  return `Exposed: ${counted(of(false), 'relation')} and ${counted(of(true), 'function')} (--exposed lists them with their roles).`
}

function summary(checked: readonly Checked[]): string[] {
  const count = checked.reduce((sum, { findings }) => sum + findings.length, 0)
  const flagged = checked.filter(({ findings }) => findings.length > 0).length
  const partial = checked.some(
    (object) =>
      object.kind !== 'function' &&
      object.roles.some(({ grants }) => commands.some((command) => grants[command] === 'columns')),
  )
  return [
    ...(partial ? ['* on some columns only'] : []),
    count === 0
      ? `Nothing to flag in ${checked.length} exposed objects.`
      : `${count} ${count === 1 ? 'finding' : 'findings'} (!) in ${flagged} of ${checked.length} exposed objects.`,
  ]
}

const blockOf = (object: Checked): Block => ({
  rows: object.kind === 'function' ? functionRows(object) : relationRows(object),
  findings: object.findings.map((finding) => printable(describeFinding(finding))),
})

function relationRows(relation: ExposedRelation): string[][] {
  const { kind } = relation
  const rls = kind === 'table' ? (relation.rls ? 'on' : 'off') : '-'
  const short = kind === 'materialized view' ? 'matview' : kind === 'foreign table' ? 'foreign' : kind
  const first = [printable(`${relation.schema}.${relation.name}`), short, rls]
  const roles = alike(relation.roles, (role) => [grantsOf(role), policiesOf(relation, role)])
  return roles.map((cells, index) => [...(index === 0 ? first : ['', '', '']), ...cells])
}

function functionRows(routine: ExposedFunction): string[][] {
  const first = [printable(`${routine.schema}.${routine.name}(${routine.arguments})`), 'function', '-']
  const roles = alike(routine.roles, ({ execute }) => [execute ? 'execute' : '-', '-'])
  return roles.map((cells, index) => [...(index === 0 ? first : ['', '', '']), ...cells])
}

/** Groups roles with the same rights into one row. */
function alike<T extends { readonly name: string }>(roles: readonly T[], cells: (role: T) => string[]): string[][] {
  const groups = new Map<string, { names: string[]; cells: string[] }>()
  for (const role of roles) {
    const own = cells(role)
    const key = JSON.stringify(own)
    const group = groups.get(key)
    if (group) group.names.push(printable(role.name))
    else groups.set(key, { names: [printable(role.name)], cells: own })
  }
  const rows = [...groups.values()].map((group) => [group.names.join('\n'), ...group.cells])
  return rows.length > 0 ? rows : [['(no roles)', '-', '-']]
}

function grantsOf({ grants }: RelationRole): string {
  const granted = commands.filter((command) => grants[command] !== null)
  return granted.map((command) => (grants[command] === 'columns' ? `${command}*` : command)).join(' ') || '-'
}

function policiesOf({ kind, rls, policies }: ExposedRelation, role: RelationRole): string {
  if (kind !== 'table' || !rls) return '-'
  if (role.bypassesRls) return 'bypasses RLS'
  const own = policies.filter(({ roles }) => roles.includes(role.name))
  const lines = own.map(
    ({ name, command, permissive }) => `${printable(name)} (${permissive ? '' : 'restrictive, '}${command})`,
  )
  return lines.join('\n') || '-'
}

/** Counts functions of an extension without findings instead of listing them, because there can be hundreds. */
function bundleExtensions(checked: readonly Checked[]): [Block[], Checked[]] {
  const counts = new Map<string, number>()
  const single = checked.filter((object) => {
    if (object.kind !== 'function' || object.extension === null || object.findings.length > 0) return true
    const callers = callersOf(object).map(printable).join('\n')
    const key = JSON.stringify([object.schema, object.extension, callers])
    counts.set(key, (counts.get(key) ?? 0) + 1)
    return false
  })
  const bundled = [...counts].map(([key, count]) => {
    const [schema, extension, callers] = JSON.parse(key) as [string, string, string]
    const name = printable(`${schema}: ${count} of the extension ${extension}`)
    return { rows: [[name, 'function', '-', callers || '-', callers ? 'execute' : '-', '-']], findings: [] }
  })
  return [bundled, single]
}
