// Where a reference stands in the value of a parameter, and how its text is written there so that it stays one value.
import { ConditionText } from './condition-text.ts'

/** Reads the texts around the references of a parameter, in order, and writes their values. */
export type Context = {
  /** Reads a percent-decoded text of the url. */
  read(text: string): void
  /** Writes a value at this place; undefined if no value can stand there. Texts are quoted, numbers and booleans not. */
  value(text: string, isText: boolean): string | undefined
  /** Whether all values that were written are complete, at the end of the parameter. */
  isComplete(): boolean
  /** What is allowed, for the error. */
  readonly rule: string
}

const escaped = (text: string): string => text.replace(/["\\]/g, '\\$&')

/** What stands after `eq.` and other operators of one value: any text, up to the end of the parameter. */
export const plainText: Context = {
  read: () => undefined,
  value: (text) => text,
  isComplete: () => true,
  rule: '',
}

/**
 * The literal of an array, a range or JSON in a filter of one value, as in `tags=cs.{a,${tag#/name}}`. PostgreSQL reads
 * quotes anywhere in it.
 */
export class LiteralText implements Context {
  readonly rule = 'Close the quotes around it.'
  #isQuoted = false
  #isEscaped = false

  read(text: string): void {
    for (const sign of text) {
      if (this.#isEscaped) this.#isEscaped = false
      else if (sign === '\\') this.#isEscaped = true
      else if (sign === '"') this.#isQuoted = !this.#isQuoted
    }
  }

  value(text: string, isText: boolean): string | undefined {
    if (this.#isEscaped) return undefined
    if (this.#isQuoted) return escaped(text)
    return isText ? `"${escaped(text)}"` : text
  }

  isComplete(): boolean {
    return !this.#isQuoted
  }
}

/** Whether a text begins like the literal of an array, a range, a row or JSON. PostgreSQL skips white space before it. */
export const isLiteral = (text: string): boolean => /^\s*[({[]/.test(text)

/**
 * Logic trees and lists: `or=(id.eq.${a#/id},name.in.(${b#/name}))`, `id=in.(${a#/id},${b#/id})`. Quotes and parentheses
 * count only where PostgREST's grammar expects them; anywhere else they are part of a value.
 */
export class Conditions implements Context {
  readonly rule =
    'In lists and conditions it must be the whole value, or stand in quotes: or=(name.eq.${a#/name}), in.("no ${a#/name}").'
  /** What each open parenthesis contains. */
  readonly #open: ('conditions' | 'list')[] = []
  /** The text since the last comma or parenthesis. */
  readonly #since = new ConditionText()
  #isQuoted = false
  #isEscaped = false
  /** The open quoted value, without its escapes: it may be a literal, in which a value has to stay one, too. */
  #quoted: Context = plainText
  #hasQuotedText = false
  /** Whether a quoted value has just ended. */
  #isClosed = false
  #isBroken = false
  /** Whether the array of a condition is open, whose commas and quotes are part of the value. */
  #isInArray = false

  read(text: string): void {
    for (const sign of text) {
      if (this.#isQuoted) this.#readQuoted(sign)
      else if (this.#isInArray) this.#isInArray = sign !== '}'
      else this.#readPlain(sign)
    }
  }

  #readQuoted(sign: string): void {
    if (!this.#isEscaped && sign === '"') this.#endQuoted()
    else if (!this.#isEscaped && sign === '\\') this.#isEscaped = true
    else {
      this.#isEscaped = false
      if (!this.#hasQuotedText && isLiteral(sign)) this.#quoted = new LiteralText()
      this.#hasQuotedText ||= /\S/.test(sign)
      this.#quoted.read(sign)
    }
  }

  #beginQuoted(): void {
    this.#isQuoted = true
    this.#quoted = plainText
    this.#hasQuotedText = false
  }

  #endQuoted(): void {
    if (!this.#quoted.isComplete()) this.#isBroken = true
    this.#isQuoted = false
    this.#isClosed = true
  }

  #readPlain(sign: string): void {
    const isEnd = sign === ',' || sign === ')'
    // Quotes after which a value goes on are part of it.
    if (this.#isClosed && !isEnd) this.#isBroken = true
    this.#isClosed = false
    const opened = sign === '(' ? this.#opened() : undefined
    if (opened) this.#open.push(opened)
    if (sign === ')') this.#open.pop()
    if (isEnd || opened) this.#since.clear()
    else if (sign === '"' && this.#isAtStart()) this.#beginQuoted()
    else {
      this.#isInArray = sign === '{' && this.#open.at(-1) === 'conditions' && this.#isAtStart()
      this.#since.read(sign)
    }
  }

  /** What a parenthesis opens here, if it is not part of a value. */
  #opened(): 'conditions' | 'list' | undefined {
    const kind = this.#open.at(-1)
    if (kind === 'list') return undefined
    const since = this.#since
    if (kind ? since.isListOfCondition : since.isListOfFilter) return 'list'
    return since.isConditionsStart ? 'conditions' : undefined
  }

  /** Whether a value begins here. */
  #isAtStart(): boolean {
    const kind = this.#open.at(-1)
    if (kind === undefined) return false
    return kind === 'list' ? this.#since.isEmpty : this.#since.isConditionStart
  }

  value(text: string, isText: boolean): string | undefined {
    if (this.#isEscaped || this.#isBroken || this.#isClosed || this.#isInArray) return undefined
    if (this.#isQuoted) {
      this.#hasQuotedText = true
      const written = this.#quoted.value(text, isText)
      return written === undefined ? undefined : escaped(written)
    }
    if (!this.#isAtStart()) return undefined
    this.#isClosed = true
    return `"${escaped(text)}"`
  }

  isComplete(): boolean {
    return !this.#isQuoted && !this.#isBroken
  }
}
