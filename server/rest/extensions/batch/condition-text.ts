// The text of a condition up to its value, read sign by sign: `name.not.eq.`. The memory and the time per sign are constant.

/** The longest text that begins conditions or a list: `not.and`, `not.in.`. */
const longestStart = 'not.and'.length
/** Longer words after the name of a field are not operators. */
const longestOperator = 64

const listStart = /^(?:not\.)?in\.$/
const conditionsStart = /^(?:(?:not\.)?(?:and|or))?$/
const operatorEnd = /^(?:not\.)?[A-Za-z]+\.$/

/**
 * What of the condition was read: its field, which is quoted or not, or a part of its operator. Nothing that begins as
 * `none` is a condition.
 */
type Part = 'start' | 'plain' | 'quoted' | 'escaped' | 'closed' | 'operator' | 'none'

/** Signs that end the plain name of a field, or cannot stand in it. */
const plainEnds: ReadonlySet<string> = new Set(['"', ',', '(', ')'])

export class ConditionText {
  #part: Part = 'start'
  /** The text itself, up to `longestStart` characters; undefined for a longer one. */
  #start: string | undefined = ''
  /** What follows the field and a dot, if it is not too long. */
  #operator: string | undefined = ''

  /** Forgets what was read: another condition begins. */
  clear(): void {
    this.#part = 'start'
    this.#start = ''
    this.#operator = ''
  }

  /** @param sign one character */
  read(sign: string): void {
    this.#start = appended(this.#start, sign, longestStart)
    if (this.#part === 'operator') this.#operator = appended(this.#operator, sign, longestOperator)
    else this.#part = after(this.#part, sign)
  }

  get isEmpty(): boolean {
    return this.#start === ''
  }

  /** Whether a value begins here: after a field, an operator and a dot. */
  get isConditionStart(): boolean {
    return this.#part === 'operator' && this.#operator !== undefined && operatorEnd.test(this.#operator)
  }

  /** Whether a parenthesis here opens the list of a condition, as in `id.in.(`. */
  get isListOfCondition(): boolean {
    return this.#part === 'operator' && this.#operator !== undefined && listStart.test(this.#operator)
  }

  /** Whether a parenthesis here opens the list of a filter, as in `in.(`. */
  get isListOfFilter(): boolean {
    return this.#start !== undefined && listStart.test(this.#start)
  }

  /** Whether a parenthesis here opens conditions, as in `not.or(`. */
  get isConditionsStart(): boolean {
    return this.#start !== undefined && conditionsStart.test(this.#start)
  }
}

const appended = (text: string | undefined, sign: string, limit: number): string | undefined =>
  text === undefined || text.length + sign.length > limit ? undefined : text + sign

function after(part: Exclude<Part, 'operator'>, sign: string): Part {
  switch (part) {
    case 'start':
      if (sign === '"') return 'quoted'
      return sign === '.' || plainEnds.has(sign) ? 'none' : 'plain'
    case 'plain':
      if (sign === '.') return 'operator'
      return plainEnds.has(sign) ? 'none' : 'plain'
    case 'quoted':
      if (sign === '\\') return 'escaped'
      return sign === '"' ? 'closed' : 'quoted'
    case 'escaped':
      return 'quoted'
    case 'closed':
      return sign === '.' ? 'operator' : 'none'
    case 'none':
      return 'none'
    default:
      return part satisfies never
  }
}
