// Random conditions in the syntax of PostgREST's URLs.
import { jsonPaths, values, type ValueKind, type Vocabulary } from './read-vocabulary.ts'
import type { Random } from './seeded-random.ts'

type Choices = readonly [string, ...string[]]

const comparisons = ['eq', 'neq', 'gt', 'gte', 'lt', 'lte'] as const
const operators: Readonly<Record<ValueKind, Choices>> = {
  integer: comparisons,
  decimal: comparisons,
  text: [...comparisons, 'like', 'ilike', 'match', 'imatch'],
  boolean: ['eq', 'neq'],
  array: ['cs', 'cd', 'ov', 'eq'],
  words: ['fts', 'plfts', 'phfts', 'wfts'],
  range: ['cs', 'cd', 'ov', 'sl', 'sr', 'nxr', 'nxl', 'adj', 'eq'],
  json: ['eq', 'neq', 'cs', 'cd'],
  time: comparisons,
  colour: ['eq', 'neq', 'gt'],
}
const quantifiable: ReadonlySet<string> = new Set(['eq', 'gt', 'gte', 'lt', 'lte', 'like', 'ilike', 'match', 'imatch'])
const languages = ['english', 'german', 'simple', 'klingon'] as const

const quoted = (value: string): string => `"${value.replace(/["\\]/g, '\\$&')}"`

/** A value in a list or a logic tree, where some characters are special. */
const nested = (random: Random, value: string): string =>
  /[.,:()"\\]/.test(value) || random.chance(0.1) ? quoted(value) : value

const valueOf = (random: Random, kind: ValueKind): string =>
  random.pick(values[kind][random.chance(0.97) ? 'fitting' : 'odd'])

/** A column, or rarely an unknown one. */
export const column = (random: Random, vocabulary: Vocabulary): readonly [string, ValueKind] =>
  random.chance(0.005) ? ['missing', 'text'] : random.pick(vocabulary.columns)

/** A column, or a JSON path into it. */
export function field(random: Random, [name, kind]: readonly [string, ValueKind]): readonly [string, ValueKind] {
  if (kind !== 'json' || random.chance(0.2)) return [name, kind]
  const path = random.pick(jsonPaths)
  return [name + path, path.includes('->>') ? 'text' : 'json']
}

/** The text after the column and its dot or equals sign. */
export function operation(random: Random, kind: ValueKind, inTree: boolean): string {
  const negation = random.chance(0.2) ? 'not.' : ''
  const written = (value: string): string => (inTree ? nested(random, value) : value)
  if (kind !== 'words' && random.chance(0.15)) {
    const plain = random.chance(0.97) ? (['null', 'NULL'] as const) : (['nil', ''] as const)
    return `${negation}is.${random.pick(kind === 'boolean' ? ['null', 'true', 'false', 'unknown'] : plain)}`
  }
  if (kind !== 'words' && random.chance(0.15)) {
    return `${negation}in.(${random.some(0, 3, () => nested(random, valueOf(random, kind))).join(',')})`
  }
  if (kind !== 'words' && random.chance(0.08)) return `${negation}isdistinct.${written(valueOf(random, kind))}`
  const operator = random.pick(operators[kind])
  if (quantifiable.has(operator) && random.chance(0.12)) {
    const items = random.some(1, 3, () => `"${valueOf(random, kind).replace(/["\\]/g, '')}"`)
    return `${negation}${operator}(${random.pick(['any', 'all'])}).${written(`{${items.join(',')}}`)}`
  }
  const language = kind === 'words' && random.chance(0.4) ? `(${random.pick(languages)})` : ''
  return `${negation}${operator}${language}.${written(valueOf(random, kind))}`
}

/** Conditions in parentheses, without `and` or `or` before them. */
export function logicTree(random: Random, vocabulary: Vocabulary, depth: number): string {
  const parts = random.some(1, 3, () => {
    if (depth > 0 && random.chance(0.3)) {
      return random.pick(['and', 'or', 'not.and', 'not.or']) + logicTree(random, vocabulary, depth - 1)
    }
    const [name, kind] = field(random, column(random, vocabulary))
    return `${name}.${operation(random, kind, true)}`
  })
  return `(${parts.join(',')})`
}
