// Keys of what a request asks for, apart from its values. A key is a sequence of parts, each with its kind and length, so
// that keys are equal only if all their parts are equal.
import type { Field } from './field.ts'
import type { Filter, LogicTree } from './filter.ts'
import { isEmptyList } from './filter.ts'

/**
 * The kinds of parts. `text` is the value of a parameter that contains no values of the caller. A filter consists of
 * `name` and `operator`, an argument of a function of `name` and `argument`. `further` is the key of a parameter that
 * PostgREST does not have. `body` has no text; it says that the request has a body. `cursor` is the direction of
 * a page, and which values of its cursor are null, `columns` are the columns that the role may read.
 */
export const partKind = {
  method: 'm',
  path: 'p',
  parameters: 'q',
  text: 't',
  name: 'n',
  json: 'j',
  operator: 'o',
  tree: 'l',
  argument: 'a',
  further: 'f',
  header: 'h',
  headerValue: 'v',
  body: 'b',
  cursor: 'c',
  columns: 'r',
} as const

export type PartKind = (typeof partKind)[keyof typeof partKind]

/** Encodes a part of a key: its kind, its length in decimal digits, a colon, its text. A key is its parts joined. */
export const keyPart = (kind: PartKind, text: string): string => `${kind}${text.length}:${text}`

/** The operator of a condition, with all that determines its SQL but its value. */
function operatorText({ negated, operation }: Pick<Filter, 'negated' | 'operation'>): string {
  const not = negated ? 'not.' : ''
  switch (operation.kind) {
    case 'simple':
      return not + operation.operator
    case 'quantifiable': {
      const { operator, quantifier } = operation
      return quantifier === null ? not + operator : `${not}${operator}(${quantifier})`
    }
    case 'in':
      return isEmptyList(operation.values) ? `${not}in()` : `${not}in`
    case 'is':
      return `${not}is.${operation.value}`
    case 'isdistinct':
      return `${not}isdistinct`
    case 'fts':
      return operation.language === null
        ? not + operation.operator
        : `${not}${operation.operator}(${operation.language})`
    default:
      return operation satisfies never
  }
}

/** The key of a condition without its field. */
export const testKey = (test: Pick<Filter, 'negated' | 'operation'>): string =>
  keyPart(partKind.operator, operatorText(test))

export function fieldKey({ name, jsonPath }: Field): string {
  let key = keyPart(partKind.name, name)
  for (const { arrow, operand } of jsonPath) key += keyPart(partKind.json, `${arrow}${operand.kind}${operand.text}`)
  return key
}

const filterKey = (filter: Filter): string => fieldKey(filter.field) + testKey(filter)

/** The key of a tree of conditions; `leaf` is that of a condition. */
export function treeKey<F>(tree: LogicTree<F>, leaf: (filter: F) => string): string {
  if (tree.kind === 'filter') return leaf(tree.filter)
  const { negated, operator, operands } = tree
  let key = keyPart(partKind.tree, `${negated ? 'not.' : ''}${operator}${operands.length}`)
  for (const operand of operands) key += treeKey(operand, leaf)
  return key
}

/** The key of a tree of conditions on rows. */
export const logicKey = (tree: LogicTree): string => treeKey(tree, filterKey)
