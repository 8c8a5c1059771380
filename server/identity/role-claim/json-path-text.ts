// Formats JSONPath in the normal form of PostgREST's configuration dump.
import { haskellNumber } from '../../text/haskell.ts'
import type { Condition, JsonPath, Operand, Segment, Selector } from './json-path.ts'

const shorthand = /^[A-Za-z_\u{80}-\u{10FFFF}][\w\u{80}-\u{10FFFF}]*$/u
const controls: Readonly<Record<string, string>> = { '\b': 'b', '\f': 'f', '\n': 'n', '\r': 'r', '\t': 't' }

const quoted = (text: string): string =>
  `'${text.replaceAll(/['\\\p{Cc}]/gu, (sign) => {
    const control = controls[sign] ?? `u${sign.charCodeAt(0).toString(16).padStart(4, '0')}`
    return `\\${sign === "'" || sign === '\\' ? sign : control}`
  })}'`

export const jsonPathText = ({ from, segments }: JsonPath): string =>
  `${from === 'root' ? '$' : '@'}${segments.map((segment) => segmentText(segment)).join('')}`

function segmentText(segment: Segment): string {
  switch (segment.kind) {
    case 'name':
      return `${segment.descend ? '..' : '.'}${segment.name}`
    case 'wildcard':
      return segment.descend ? '..*' : '.*'
    case 'selectors':
      return `${segment.descend ? '..' : ''}[${segment.selectors.map(selectorText).join(',')}]`
    default:
      return segment satisfies never
  }
}

function selectorText(selector: Selector): string {
  switch (selector.kind) {
    case 'name':
      return quoted(selector.name)
    case 'index':
      return String(selector.index)
    case 'slice':
      return `${selector.start ?? ''}:${selector.end ?? ''}:${selector.step}`
    case 'wildcard':
      return '*'
    case 'filter':
      return `?${conditionText(selector.condition)}`
    default:
      return selector satisfies never
  }
}

function conditionText(condition: Condition): string {
  switch (condition.kind) {
    case 'or':
      return condition.terms.map(conditionText).join(' || ')
    case 'and':
      return condition.terms.map(conditionText).join(' && ')
    case 'group':
      return `${condition.negated ? '!' : ''}(${conditionText(condition.condition)})`
    case 'exists':
      return `${condition.negated ? '!' : ''}${jsonPathText(condition.path)}`
    case 'search':
      return `${condition.negated ? '!' : ''}search(${argumentText(condition.text)}, ${argumentText(condition.pattern)})`
    case 'compare':
      return `${comparedText(condition.left)} ${condition.by} ${comparedText(condition.right)}`
    default:
      return condition satisfies never
  }
}

function argumentText(operand: Operand): string {
  if (operand.kind === 'path') return jsonPathText(operand.path)
  const { value } = operand
  return typeof value === 'string' ? quoted(value) : typeof value === 'number' ? haskellNumber(value) : String(value)
}

/** In comparisons, PostgREST uses dot notation for names wherever possible. */
function comparedText(operand: Operand): string {
  if (operand.kind === 'literal') return argumentText(operand)
  const segments = operand.path.segments.map((segment): Segment => {
    const only = segment.kind === 'selectors' ? segment.selectors[0] : undefined
    return only?.kind === 'name' && shorthand.test(only.name)
      ? { kind: 'name', descend: false, name: only.name }
      : segment
  })
  return jsonPathText({ ...operand.path, segments })
}
