// Prints an explanation for the terminal, in lines of 100 columns.
import { printable, wrap } from '../command-line/text-table.ts'
import type { DeniedRow, ExplainedPolicy, ExplainedRelation, Explanation } from './explanation.ts'
import { median } from './measure.ts'
import { planText } from './plan-text.ts'

const width = 100

/**
 * The explanation with a line feed at its end.
 *
 * @param showsSql whether to print the statements of the request
 */
export function explanationText(explanation: Explanation, showsSql = false): string {
  const sections = [
    requestText(explanation),
    resultText(explanation),
    effectsText(explanation),
    deniedText(explanation),
    ...explanation.relations.map(relationText),
    showsSql ? statementsText(explanation) : [],
    measuredText(explanation),
    explanation.notes.flatMap((note) => block('note', note)),
  ]
  return `${sections
    .filter((lines) => lines.length > 0)
    .map((lines) => lines.join('\n'))
    .join('\n\n')}\n`
}

/** A text beside its label, wrapped. */
function block(label: string, text: string, indent = 0): string[] {
  const column = indent + 12
  // PostgreSQL prints subqueries in several lines.
  const lines = wrap(printable(text.replace(/\s*\n\s*/g, ' ')), width - column)
  return lines.map(
    (line, index) => `${index === 0 ? ' '.repeat(indent) + label.padEnd(12) : ' '.repeat(column)}${line}`,
  )
}

const inWords = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value))

function requestText({ request: { method, target, role, claims } }: Explanation): string[] {
  const shown = Object.entries(claims).filter(([name]) => name !== 'role' && name !== 'amr')
  return [
    ...block('request', `${method} ${target}`),
    ...block('as', [role, ...shown.map(([name, value]) => `${name}: ${inWords(value)}`)].join(', ')),
  ]
}

function resultText({ response, rows, request: { method } }: Explanation): string[] {
  if (!response) return block('response', 'not run: see the effects below')
  const { status, error } = response
  const lines = block('response', [String(status), ...errorParts(error)].join(' '))
  const { before, after } = rows
  const seen = method === 'GET' || method === 'HEAD' ? 'visible' : 'written'
  if (before !== null && after !== null) {
    const hidden = before - after
    const difference = hidden > 0 ? `; policies hide ${hidden}` : ''
    lines.push(...block('rows', `${before} before the policies, ${after} ${seen}${difference}`))
  } else if (before !== null) lines.push(...block('rows', `${before} before the policies, none ${seen}`))
  else if (after !== null) lines.push(...block('rows', `${after} ${seen}`))
  return lines
}

function errorParts(error: unknown): string[] {
  if (typeof error !== 'object' || error === null) return []
  const { code, message, details, hint } = error as Readonly<Record<string, unknown>>
  return [code, message, details, hint].filter((part): part is string => typeof part === 'string')
}

function effectsText({ effects: { refused, remaining } }: Explanation): string[] {
  return [
    ...refused.flatMap(({ object, reason, through }) =>
      block('effect', `${object}: ${reason}${through.length === 0 ? '' : ` (reached by ${through.join(', ')})`}`),
    ),
    ...(refused.length > 0
      ? block('', 'A rollback may not undo this, so the request was not run. To run it anyway: --trust FUNCTION')
      : []),
    ...remaining.flatMap((text) => block('remains', text)),
  ]
}

/** More rows of other users would explain nothing new. */
const maxHidden = 3

function deniedText({ denied }: Explanation): string[] {
  if (!denied) return []
  const refused = denied.rows.filter(({ kind }) => kind === 'new')
  // Policies do not matter yet if privileges are missing.
  const hidden = denied.reason === 'privileges' ? [] : denied.rows.filter(({ kind }) => kind === 'existing')
  return [
    ...denied.privileges.flatMap(({ role, privilege, columns, object, grant }) => [
      ...block('denied', `${role} lacks ${privilege} on ${object}${columns ? ` (${columns.join(', ')})` : ''}`),
      ...block('', grant),
    ]),
    ...[...refused, ...hidden.slice(0, maxHidden)].flatMap(deniedRowText),
    ...(hidden.length > maxHidden ? block('', `… and further rows: --json lists up to ten`) : []),
  ]
}

function deniedRowText({ kind, relation, row, key, policies }: DeniedRow): string[] {
  const named = [
    ...(row === null ? [] : [`row ${row} of the body`]),
    ...(key === null
      ? []
      : [
          Object.entries(key)
            .map(([name, value]) => `${name}: ${inWords(value)}`)
            .join(', '),
        ]),
  ].join(', ')
  const [label, what] = kind === 'new' ? ['denied', 'new row of'] : ['hidden', 'row of']
  const lines = block(label, `${what} ${relation}${named === '' ? '' : ` (${named})`}`)
  if (policies.length === 0) lines.push(...block('', 'no permissive policy applies to this role and command'))
  for (const { name, permissive, clause, tests, columns } of policies) {
    lines.push(...block('', `${permissive ? 'not allowed' : 'forbidden'} by ${name} (${clause}):`))
    for (const { resolved, result } of tests)
      lines.push(...block('', `${result === null ? 'unknown' : 'false'}: ${resolved}`, 2))
    const values = Object.entries(columns).map(([column, value]) => `${column}: ${inWords(value)}`)
    if (values.length > 0) lines.push(...block('', `where ${values.join(', ')}`, 2))
  }
  return lines
}

function relationText(relation: ExplainedRelation): string[] {
  const { schema, name, role, through, commands, rowSecurity, grants, policies, examined } = relation
  const security = { on: 'policies apply', off: 'no row-level security', bypassed: 'policies are bypassed' }[
    rowSecurity
  ]
  const origin = through === null ? '' : `, through ${through}`
  const lines = block('relation', `${schema}.${name}: ${commands.join(', ')} as ${role}${origin}; ${security}`)
  for (const { privilege, to, columns } of grants) {
    lines.push(...block('grant', `${privilege}${columns ? ` (${columns.join(', ')})` : ''} to ${to}`, 2))
  }
  for (const policy of policies) lines.push(...policyText(policy, examined))
  if (rowSecurity === 'on' && policies.length === 0) lines.push(...block('policy', 'none: no row is visible', 2))
  return lines
}

function policyText(policy: ExplainedPolicy, examined: ExplainedRelation['examined']): string[] {
  const { name, permissive, command, roles, using, check, usingResolved, checkResolved, passes } = policy
  const counted = passes === null || !examined ? '' : `; passed by ${passes} of ${examined.rows} rows`
  const kind = `${permissive ? 'permissive' : 'restrictive'}, ${command} to ${roles.join(', ')}`
  const lines = block('policy', `${name} (${kind})${counted}`, 2)
  for (const [label, text, values] of [
    ['using', using, usingResolved] as const,
    ['with check', check, checkResolved] as const,
  ]) {
    if (text === null) continue
    lines.push(...block(label, text, 4))
    if (values !== null && values !== text) lines.push(...block('here', values, 4))
  }
  return lines
}

function statementsText({ statements }: Explanation): string[] {
  return statements.flatMap(({ sql, values }) => [
    ...block('sql', sql),
    ...values.flatMap((value, index) => block(`  $${index + 1}`, value === null ? 'NULL' : shortened(value))),
  ])
}

const shortened = (value: string): string => (value.length > 300 ? `${value.slice(0, 300)}…` : value)

function measuredText({ plan, cost }: Explanation): string[] {
  const lines = planText(plan, width - 12).map((line, index) => `${(index === 0 ? 'plan' : '').padEnd(12)}${line}`)
  if (!cost) return lines
  const { withPolicies, withoutPolicies, milliseconds, bypassedBy } = cost
  const [on, off] = [median(withPolicies), median(withoutPolicies)].map((value) => value.toFixed(3))
  const runs = withPolicies.length
  return [
    ...lines,
    ...block(
      'policies',
      `${milliseconds >= 0 ? 'cost' : 'save'} ${Math.abs(milliseconds).toFixed(3)} ms: ${on} ms with them, ${off} ms as ${bypassedBy} without (${runs === 1 ? 'one run' : `medians of ${runs} runs`} each, in turn)`,
    ),
  ]
}
