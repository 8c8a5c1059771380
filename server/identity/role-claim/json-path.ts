// JSONPath queries: the subset of RFC 9535 that PostgREST supports. https://www.rfc-editor.org/rfc/rfc9535.html
import { compareText } from '../../text/code-point-order.ts'
import { isJsonObject } from '../../text/json-object.ts'
import { isDeepStrictEqual } from 'node:util'
import { posixRegExp } from './posix-regexp.ts'

export type JsonPath = { readonly from: 'root' | 'current'; readonly segments: readonly Segment[] }

export type Segment =
  /** `.name`, `..name` */
  | { readonly kind: 'name'; readonly descend: boolean; readonly name: string }
  /** `.*`, `..*` */
  | { readonly kind: 'wildcard'; readonly descend: boolean }
  /** `[…]`, `..[…]` */
  | { readonly kind: 'selectors'; readonly descend: boolean; readonly selectors: readonly Selector[] }

export type Selector =
  | { readonly kind: 'name'; readonly name: string }
  | { readonly kind: 'index'; readonly index: number }
  | {
      readonly kind: 'slice'
      readonly start: number | undefined
      readonly end: number | undefined
      readonly step: number
    }
  | { readonly kind: 'wildcard' }
  | { readonly kind: 'filter'; readonly condition: Condition }

export type Comparison = '==' | '!=' | '<' | '<=' | '>' | '>='
export type Literal = string | number | boolean | null

export type Condition =
  | { readonly kind: 'or' | 'and'; readonly terms: readonly Condition[] }
  | { readonly kind: 'group'; readonly negated: boolean; readonly condition: Condition }
  | { readonly kind: 'exists'; readonly negated: boolean; readonly path: JsonPath }
  | { readonly kind: 'search'; readonly negated: boolean; readonly text: Operand; readonly pattern: Operand }
  | { readonly kind: 'compare'; readonly left: Operand; readonly by: Comparison; readonly right: Operand }

/** A path in a comparison, which contains only names and single indexes. */
export type Operand =
  { readonly kind: 'literal'; readonly value: Literal } | { readonly kind: 'path'; readonly path: JsonPath }

const member = (value: unknown, name: string): readonly unknown[] =>
  isJsonObject(value) && Object.hasOwn(value, name) ? [value[name]] : []

/** The members of an object sorted by name, or the elements of an array. */
function children(value: unknown): readonly unknown[] {
  if (Array.isArray(value)) return value
  if (!isJsonObject(value)) return []
  return Object.keys(value)
    .sort(compareText)
    .map((name) => value[name])
}

/** A container, followed by all containers in it. */
function containers(value: unknown): readonly unknown[] {
  return typeof value === 'object' && value !== null ? [value, ...children(value).flatMap(containers)] : []
}

/** The values that a query selects, in order. */
export function select(path: JsonPath, root: unknown, current: unknown = root): readonly unknown[] {
  return path.segments.reduce<readonly unknown[]>(
    (found, segment) => {
      const bases = segment.descend ? found.flatMap(containers) : found
      return bases.flatMap((base) => step(segment, root, base))
    },
    [path.from === 'root' ? root : current],
  )
}

function step(segment: Segment, root: unknown, base: unknown): readonly unknown[] {
  switch (segment.kind) {
    case 'name':
      return member(base, segment.name)
    case 'wildcard':
      return children(base)
    case 'selectors':
      return segment.selectors.flatMap((selector) => pick(selector, root, base))
    default:
      return segment satisfies never
  }
}

function pick(selector: Selector, root: unknown, base: unknown): readonly unknown[] {
  switch (selector.kind) {
    case 'name':
      return member(base, selector.name)
    case 'index': {
      if (!Array.isArray(base)) return []
      const index = selector.index < 0 ? base.length + selector.index : selector.index
      return index in base ? [base[index]] : []
    }
    case 'slice':
      return Array.isArray(base) ? slice(base, selector) : []
    case 'wildcard':
      return children(base)
    case 'filter':
      return children(base).filter((value) => holds(selector.condition, root, value))
    default:
      return selector satisfies never
  }
}

/** RFC 9535, section 2.3.4.2.2. */
function slice(list: readonly unknown[], { start, end, step }: Selector & { readonly kind: 'slice' }): unknown[] {
  const { length } = list
  if (step === 0) return []
  const fromEnd = (index: number): number => (index < 0 ? length + index : index)
  const clamp = (index: number, low: number, high: number): number => Math.min(Math.max(index, low), high)
  const [low, high] = step > 0 ? [0, length] : [-1, length - 1]
  const first = clamp(start === undefined ? (step > 0 ? 0 : length - 1) : fromEnd(start), low, high)
  const stop = clamp(end === undefined ? (step > 0 ? length : -1) : fromEnd(end), low, high)
  const found: unknown[] = []
  for (let index = first; step > 0 ? index < stop : index > stop; index += step) found.push(list[index])
  return found
}

function holds(condition: Condition, root: unknown, current: unknown): boolean {
  switch (condition.kind) {
    case 'or':
      return condition.terms.some((term) => holds(term, root, current))
    case 'and':
      return condition.terms.every((term) => holds(term, root, current))
    case 'group':
      return holds(condition.condition, root, current) !== condition.negated
    case 'exists':
      return select(condition.path, root, current).length > 0 !== condition.negated
    case 'search':
      return matches(condition.text, condition.pattern, root, current) !== condition.negated
    case 'compare':
      return compares(condition.by, operand(condition.left, root, current), operand(condition.right, root, current))
    default:
      return condition satisfies never
  }
}

/** The only value that the query selects; undefined when there is none or more than one. */
function operand(it: Operand, root: unknown, current: unknown): unknown {
  if (it.kind === 'literal') return it.value
  const found = select(it.path, root, current)
  return found.length === 1 ? found[0] : undefined
}

function matches(text: Operand, pattern: Operand, root: unknown, current: unknown): boolean {
  const subject = operand(text, root, current)
  const source = operand(pattern, root, current)
  if (typeof subject !== 'string' || typeof source !== 'string') return false
  return posixRegExp(source)?.test(subject) ?? false
}

function isLess(left: unknown, right: unknown): boolean {
  if (typeof left === 'string' && typeof right === 'string') {
    return Buffer.compare(Buffer.from(left), Buffer.from(right)) < 0
  }
  return typeof left === 'number' && typeof right === 'number' && left < right
}

function compares(by: Comparison, left: unknown, right: unknown): boolean {
  switch (by) {
    case '==':
      return isDeepStrictEqual(left, right)
    case '!=':
      return !isDeepStrictEqual(left, right)
    case '<':
      return isLess(left, right)
    case '<=':
      return isLess(left, right) || isDeepStrictEqual(left, right)
    case '>':
      return isLess(right, left)
    case '>=':
      return isLess(right, left) || isDeepStrictEqual(left, right)
    default:
      return by satisfies never
  }
}
