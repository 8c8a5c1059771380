// TypeScript types as data, and their source in the form that Prettier gives it (3.5, without semicolons).
import { choice, group, hardLine, indent, join, line, softLine, type Layout } from './layout.ts'

export type Type =
  /** A type that is never broken: `string`, `Database["public"]["Enums"]["mood"]`, a literal. */
  | string
  | { readonly kind: 'union'; readonly members: readonly Type[] }
  | { readonly kind: 'array'; readonly item: Type }
  | { readonly kind: 'tuple'; readonly items: readonly TupleItem[] }
  /** An open object has a line for each member; another one is on one line if it fits. */
  | { readonly kind: 'object'; readonly members: readonly Member[]; readonly isOpen: boolean }
  | { readonly kind: 'intersection'; readonly left: Type; readonly right: Type }

export type TupleItem = { readonly type: Type; readonly isOptional?: boolean; readonly isRest?: boolean }

/** A property, or lines of comments before the next one. */
export type Member = { readonly key: string; readonly type: Type } | { readonly comments: readonly string[] }

/** A string literal with the quotes that need fewer escapes. */
export function quoted(text: string): string {
  const double = JSON.stringify(text)
  const count = (mark: string): number => text.split(mark).length - 1
  if (count('"') <= count("'")) return double
  const body = double
    .slice(1, -1)
    .replace(/\\.|'/gs, (found) => (found === '\\"' ? '"' : found === "'" ? "\\'" : found))
  return `'${body}'`
}

/** Identifiers of ECMAScript 5: letters of the Basic Multilingual Plane. */
const identifier = /^(?![^]*[\u{10000}-\u{10ffff}])[$_\p{L}\p{Nl}][$\p{L}\p{Nl}\p{Mn}\p{Mc}\p{Nd}\p{Pc}\u200c\u200d]*$/u

/** The name of a property, without quotes if it needs none. */
const key = (name: string): string => (identifier.test(name) ? name : quoted(name))

export const property = (name: string, type: Type, isOptional = false): Member => ({
  key: `${key(name)}${isOptional ? '?' : ''}`,
  type,
})

export const openObject = (members: readonly Member[]): Type => ({ kind: 'object', members, isOpen: true })
export const inlineObject = (members: readonly Member[]): Type => ({ kind: 'object', members, isOpen: false })
export const arrayOf = (item: Type): Type => ({ kind: 'array', item })

/** A group of a schema, such as its tables: an empty one accepts no name. */
export const groupOf = (members: readonly Member[]): Type =>
  openObject(members.length === 0 ? [{ key: '[_ in never]', type: 'never' }] : members)

/** The union of types, or the only one. */
export function union(members: readonly Type[]): Type {
  const [first = 'never', ...others] = members.flatMap((member) =>
    typeof member !== 'string' && member.kind === 'union' ? member.members : [member],
  )
  return others.length === 0 ? first : { kind: 'union', members: [first, ...others] }
}

/** `unknown` includes null. */
export const orNull = (type: Type, isNullable = true): Type =>
  isNullable && type !== 'unknown' ? union([type, 'null']) : type

/** A union of string literals. */
export const literals = (values: readonly string[]): Type => union(values.map(quoted))

const isObject = (type: Type): boolean => typeof type !== 'string' && type.kind === 'object'

export function typeLayout(type: Type): Layout {
  if (typeof type === 'string') return type
  switch (type.kind) {
    case 'union':
      return unionLayout(type.members)
    case 'array':
      return [operandLayout(type.item), '[]']
    case 'tuple':
      return tupleLayout(type.items)
    case 'object':
      return objectLayout(type.members, type.isOpen)
    case 'intersection':
      return group([typeLayout(type.left), ' & ', typeLayout(type.right)])
    default:
      return type satisfies never
  }
}

/** An object or null stays on the line of its property. Another union has a line for each member if it does not fit. */
function unionLayout(members: readonly Type[]): Layout {
  const isObjectOrNull =
    members.filter((member) => member === 'null').length === members.length - 1 && members.some(isObject)
  if (isObjectOrNull) return join(' | ', members.map(typeLayout))
  return group(indent([choice([line, '| ']), alternatives(members)]))
}

const alternatives = (members: readonly Type[]): Layout =>
  join(
    [line, '| '],
    members.map((member) => indent(typeLayout(member))),
  )

/** A type before `[]` or `?`. */
function operandLayout(type: Type): Layout {
  if (typeof type === 'string') return type
  if (type.kind === 'union') {
    return ['(', group([indent([choice([line, '| ']), alternatives(type.members)]), softLine]), ')']
  }
  return type.kind === 'intersection' ? ['(', typeLayout(type), ')'] : typeLayout(type)
}

function tupleLayout(items: readonly TupleItem[]): Layout {
  const isOnly = items.length === 1
  const layouts = items.map(({ type, isOptional, isRest }) => {
    if (isOptional) return [operandLayout(type), '?']
    if (isRest) return ['...', typeLayout(type)]
    if (typeof type === 'string' || type.kind !== 'union') return typeLayout(type)
    const code = [choice(isOnly ? '| ' : ['(', softLine, '| ']), alternatives(type.members)]
    return group(isOnly ? code : [indent(code), softLine, choice(')')])
  })
  return listLayout(layouts)
}

/** A list in brackets. */
export const listLayout = (items: readonly Layout[]): Layout =>
  items.length === 0 ? '[]' : group(['[', indent([softLine, join([',', line], items)]), choice(','), softLine, ']'])

function objectLayout(members: readonly Member[], isOpen: boolean): Layout {
  if (members.length === 0) return '{}'
  const items = members.map((member, index) => {
    if ('comments' in member) return join(hardLine, member.comments)
    return [`${member.key}: `, typeLayout(member.type), index === members.length - 1 ? '' : choice('', ';')]
  })
  const edge = isOpen ? hardLine : line
  return group(['{', indent([edge, join(line, items)]), edge, '}'])
}

/** An object literal with a line for each member. */
export const valueLayout = (members: readonly (readonly [string, Layout])[]): Layout =>
  members.length === 0
    ? '{}'
    : ['{', indent(members.map(([name, value]) => [hardLine, key(name), ': ', value, ','])), hardLine, '}']
