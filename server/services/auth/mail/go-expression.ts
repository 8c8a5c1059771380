// Expressions in the actions of Go templates: pipelines of fields, literals and function calls.
import { escapeHtml } from './html-text.ts'
import { TemplateError } from './template-error.ts'

export type Expression =
  | { readonly kind: 'literal'; readonly value: unknown }
  /** The dot, or the root (`$`), and the path of fields from it. */
  | { readonly kind: 'field'; readonly of: 'dot' | 'root'; readonly path: readonly string[] }
  | { readonly kind: 'call'; readonly name: string; readonly operands: readonly Expression[] }

type TemplateFunction = (...operands: readonly unknown[]) => unknown

const functions: Readonly<Record<string, TemplateFunction>> = {
  and: (...operands) => operands.find((it) => !isTrue(it)) ?? operands.at(-1),
  or: (...operands) => operands.find(isTrue) ?? operands.at(-1),
  not: (operand) => !isTrue(operand),
  eq: (first, ...others) => others.some((other) => other === first),
  ne: (first, second) => first !== second,
  len: (operand) =>
    typeof operand === 'string' || Array.isArray(operand) ? operand.length : Object.keys(operand ?? {}).length,
  index: (operand, ...keys) => keys.reduce((value, key) => memberOf(value, String(key)), operand),
  html: (operand) => escapeHtml(textOf(operand)),
  urlquery: (...operands) => encodeURIComponent(operands.map(textOf).join('')).replaceAll('%20', '+'),
}

/** How a value is inserted. Absent and null values are nothing. */
export function textOf(value: unknown): string {
  if (value === null || value === undefined) return ''
  if (typeof value === 'string') return value
  return JSON.stringify(value) ?? ''
}

/** Whether Go regards a value as true: it is not false, 0, null or empty. */
export function isTrue(value: unknown): boolean {
  if (Array.isArray(value)) return value.length > 0
  if (typeof value === 'object' && value !== null) return Object.keys(value).length > 0
  return Boolean(value)
}

/** A member of an object or array; undefined if there is none. Inherited members do not count. */
function memberOf(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null && Object.hasOwn(value, name)
    ? (value as Readonly<Record<string, unknown>>)[name]
    : undefined
}

/** @returns The value of the expression, where `dot` is the current value and `root` that of the whole template. */
export function evaluate(expression: Expression, dot: unknown, root: unknown): unknown {
  switch (expression.kind) {
    case 'literal':
      return expression.value
    case 'field':
      return expression.path.reduce<unknown>(memberOf, expression.of === 'root' ? root : dot)
    case 'call':
      return functions[expression.name]?.(...expression.operands.map((it) => evaluate(it, dot, root)))
    default:
      return expression satisfies never
  }
}

const token =
  /\s*(?:("(?:[^"\\\n]|\\.)*")|`([^`]*)`|(\$?(?:\.[\p{L}_][\p{L}\p{N}_]*)+|\$|\.)|(-?\d+(?:\.\d+)?)|([a-zA-Z_]\w*)|([|()]))/uy

type Token =
  | { readonly kind: 'operand'; readonly expression: Expression }
  | { readonly kind: 'function'; readonly name: string }
  | { readonly kind: 'mark'; readonly mark: string }

/**
 * @param text The content of an action.
 * @param variables Names of the fields of the dot, if it is known. The fields of the root are checked in any case.
 * @throws {TemplateError} If the expression is malformed, or uses an unknown field or function.
 */
export function parseExpression(text: string, variables: ReadonlySet<string> | undefined): Expression {
  const tokens: Token[] = []
  token.lastIndex = 0
  while (token.lastIndex < text.length) {
    const match = token.exec(text)
    if (match === null) throw new TemplateError(`"{{ ${text} }}" is malformed`)
    tokens.push(tokenOf(match, variables))
  }
  let index = 0
  const pipeline = (): Expression => {
    let value = command(undefined)
    while (isMark(tokens[index], '|')) {
      index += 1
      value = command(value)
    }
    return value
  }
  const command = (piped: Expression | undefined): Expression => {
    const first = tokens[index]
    if (first?.kind === 'function') {
      index += 1
      const operands: Expression[] = []
      for (let next = operand(); next !== undefined; next = operand()) operands.push(next)
      return { kind: 'call', name: first.name, operands: piped === undefined ? operands : [...operands, piped] }
    }
    const value = operand()
    if (value === undefined || piped !== undefined) throw new TemplateError(`"{{ ${text} }}" is malformed`)
    return value
  }
  const operand = (): Expression | undefined => {
    const next = tokens[index]
    if (next?.kind === 'operand') {
      index += 1
      return next.expression
    }
    if (!isMark(next, '(')) return undefined
    index += 1
    const inner = pipeline()
    if (!isMark(tokens[index], ')')) throw new TemplateError(`"{{ ${text} }}" has an unclosed parenthesis`)
    index += 1
    return inner
  }
  const expression = pipeline()
  if (index < tokens.length) throw new TemplateError(`"{{ ${text} }}" is malformed`)
  return expression
}

const isMark = (it: Token | undefined, mark: string): boolean => it?.kind === 'mark' && it.mark === mark

const words: Readonly<Record<string, unknown>> = { true: true, false: false, nil: null }

function tokenOf(match: RegExpExecArray, variables: ReadonlySet<string> | undefined): Token {
  const [, quoted, raw, field, number, word, mark = ''] = match
  const literal = (value: unknown): Token => ({ kind: 'operand', expression: { kind: 'literal', value } })
  if (quoted !== undefined) return literal(unquote(quoted))
  if (raw !== undefined) return literal(raw)
  if (number !== undefined) return literal(Number(number))
  if (word !== undefined) {
    if (Object.hasOwn(words, word)) return literal(words[word])
    if (!Object.hasOwn(functions, word)) {
      throw new TemplateError(
        `the function "${word}" is not supported (supported: ${Object.keys(functions).join(', ')})`,
      )
    }
    return { kind: 'function', name: word }
  }
  if (field === undefined) return { kind: 'mark', mark }
  const path = field
    .replace(/^\$/, '')
    .split('.')
    .filter((name) => name !== '')
  const [first] = path
  if (first !== undefined && variables !== undefined && !variables.has(first)) {
    const known = Array.from(variables, (name) => `.${name}`).join(', ')
    throw new TemplateError(`the variable ".${first}" is unknown (known: ${known})`)
  }
  return { kind: 'operand', expression: { kind: 'field', of: field.startsWith('$') ? 'root' : 'dot', path } }
}

function unquote(quoted: string): unknown {
  try {
    return JSON.parse(quoted)
  } catch {
    throw new TemplateError(`the string ${quoted} is malformed`)
  }
}
