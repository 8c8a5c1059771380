// The path syntax of `jwt-role-claim-key` before PostgREST 16: `.roles[0]`, `.roles[?(@ ^== "web_")]`. Deprecated there.

type Test = '==' | '!=' | '^==' | '==^' | '*=='

export type LegacyStep =
  | { readonly kind: 'key'; readonly key: string }
  | { readonly kind: 'index'; readonly index: number }
  /** The first string of an array that passes the test. Always the last step. */
  | { readonly kind: 'filter'; readonly test: Test; readonly text: string }

const key = /\.(?:([\p{L}\p{M}\p{N}_$@]+)|"([^"]*)")/uy
const index = /\[(\d+)\]/y
const filter = /\[\?\(@\s*(==\^|==|!=|\^==|\*==)\s*"([^"]*)"\)\]$/y

/** Undefined when the text is not such a path. */
export function parseLegacyPath(text: string): readonly LegacyStep[] | undefined {
  const steps: LegacyStep[] = []
  let at = 0
  const take = (pattern: RegExp): RegExpExecArray | null => {
    pattern.lastIndex = at
    const match = pattern.exec(text)
    if (match) at = pattern.lastIndex
    return match
  }
  while (at < text.length) {
    const named = take(key)
    const positioned = named ? null : take(index)
    const filtered = (named ?? positioned) ? null : take(filter)
    if (named) steps.push({ kind: 'key', key: named[1] ?? named[2] ?? '' })
    else if (positioned) steps.push({ kind: 'index', index: Number(positioned[1]) })
    else if (filtered) steps.push({ kind: 'filter', test: filtered[1] as Test, text: filtered[2] ?? '' })
    else return undefined
  }
  return steps.length > 0 ? steps : undefined
}

function passes(test: Test, text: string, wanted: string): boolean {
  switch (test) {
    case '==':
      return text === wanted
    case '!=':
      return text !== wanted
    case '^==':
      return text.startsWith(wanted)
    case '==^':
      return text.endsWith(wanted)
    case '*==':
      return text.includes(wanted)
    default:
      return test satisfies never
  }
}

/** The value at the path, or undefined. */
export function followLegacyPath(steps: readonly LegacyStep[], claims: unknown): unknown {
  return steps.reduce<unknown>((value, step) => {
    switch (step.kind) {
      case 'key':
        return typeof value === 'object' && value !== null && !Array.isArray(value) && Object.hasOwn(value, step.key)
          ? (value as Record<string, unknown>)[step.key]
          : undefined
      case 'index':
        return Array.isArray(value) ? (value as unknown[])[step.index] : undefined
      case 'filter':
        return Array.isArray(value)
          ? value.find((item) => typeof item === 'string' && passes(step.test, item, step.text))
          : undefined
      default:
        return step satisfies never
    }
  }, claims)
}

const named: Readonly<Record<string, string>> = {
  '"': '\\"',
  '\\': '\\\\',
  '\x07': '\\a',
  '\b': '\\b',
  '\t': '\\t',
  '\n': '\\n',
  '\v': '\\v',
  '\f': '\\f',
  '\r': '\\r',
}

/** A string as Haskell's `show` prints it, as in PostgREST's configuration dump. */
function shown(text: string): string {
  const signs = Array.from(text, (sign) => {
    const code = sign.codePointAt(0) ?? 0
    return named[sign] ?? (code < 0x20 || code > 0x7e ? `\\${code}` : sign)
  })
  // `\&` separates a numeric escape from a following digit.
  const safe = signs.map((sign, at) => (/^\d$/.test(sign) && /^\\\d/.test(signs[at - 1] ?? '') ? `\\&${sign}` : sign))
  return `"${safe.join('')}"`
}

export function legacyPathText(steps: readonly LegacyStep[]): string {
  const texts = steps.map((step) => {
    switch (step.kind) {
      case 'key':
        return `.${shown(step.key)}`
      case 'index':
        return `[${step.index}]`
      case 'filter':
        return `[?(@ ${step.test} ${shown(step.text)})]`
      default:
        return step satisfies never
    }
  })
  return texts.join('')
}
