// Splits CSV into records of fields. RFC 4180; lines end with \r\n, \n or \r, as in PostgREST.

const quote = 0x22
const comma = 0x2c
const lineFeed = 0x0a
const carriageReturn = 0x0d
const byteOrderMark = 0xfeff

/** The only field of a blank line. Records are not changed, so all blank lines share it. */
const blankRecord: readonly string[] = ['']

export type CsvFault = 'syntax' | 'unclosed quote'

/** Invalid CSV. */
export class CsvSyntaxError extends Error {
  readonly fault: CsvFault
  /** Position of the first invalid character in the piece that was pushed last. */
  readonly at: number

  constructor(fault: CsvFault, at: number) {
    super(fault)
    this.fault = fault
    this.at = at
  }
}

/**
 * @param record its fields
 * @param lines number of lines that it takes: fields in quotes may contain line ends
 * @param length number of its characters
 */
export type OnRecord = (record: readonly string[], lines: number, length: number) => void

type State = 'beginning' | 'start' | 'plain' | 'quoted' | 'after quote' | 'after return'

const isLineEnd = (code: number): boolean => code === lineFeed || code === carriageReturn

/** Number of line ends in a text of which the previous character is known. */
function lineEndsIn(text: string, isAfterReturn: boolean): number {
  let count = 0
  let wasReturn = isAfterReturn
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at)
    if (code === carriageReturn || (code === lineFeed && !wasReturn)) count += 1
    wasReturn = code === carriageReturn
  }
  return count
}

/**
 * Splits text that arrives in pieces, without the byte order mark with which Excel begins its files. The time is linear, also for a field of many pieces. The fields of a record beyond
 * `mostFields` are left out, since an empty one takes a hundred times its length.
 */
export class CsvRecords {
  readonly #onRecord: OnRecord
  readonly #mostFields: () => number
  #state: State = 'beginning'
  #field = ''
  #fields: string[] = []
  #lines = 1
  #length = 0
  #endsWithReturn = false

  /** @param mostFields maximum number of fields of the next record */
  constructor(onRecord: OnRecord, mostFields: () => number) {
    this.#onRecord = onRecord
    this.#mostFields = mostFields
  }

  /** Number of characters of the record that has begun. */
  get pending(): number {
    return this.#length
  }

  /** @throws CsvSyntaxError, and what `onRecord` throws */
  push(text: string): void {
    let at = 0
    while (at < text.length) at = this.#step(text, at)
  }

  /** Ends the last record, which may lack a line end. Throws as `push`. */
  end(): void {
    if (this.#state === 'quoted') throw new CsvSyntaxError('unclosed quote', 0)
    if (this.#state === 'plain' || this.#state === 'after quote' || this.#fields.length > 0) this.#endRecord()
  }

  /** Reads a part of a field, or a sign. @returns the position after it */
  #step(text: string, at: number): number {
    const code = text.charCodeAt(at)
    switch (this.#state) {
      case 'beginning':
        this.#state = 'start'
        return code === byteOrderMark ? at + 1 : at
      case 'after return':
        this.#state = 'start'
        return code === lineFeed ? at + 1 : at
      case 'start':
        if (isLineEnd(code) && this.#fields.length === 0) return this.#blankLine(code, at)
        if (code !== quote) return this.#plain(text, at)
        this.#state = 'quoted'
        this.#length += 1
        return at + 1
      case 'plain':
        return this.#plain(text, at)
      case 'quoted':
        return this.#quoted(text, at)
      case 'after quote':
        if (code !== quote) return this.#separator(code, at)
        // The first of two quotes was the last character of the previous piece.
        this.#state = 'quoted'
        this.#endsWithReturn = false
        this.#append('"')
        return at + 1
      default:
        return this.#state satisfies never
    }
  }

  #blankLine(code: number, at: number): number {
    this.#onRecord(blankRecord, 1, 1)
    if (code === carriageReturn) this.#state = 'after return'
    return at + 1
  }

  #plain(text: string, start: number): number {
    let at = start
    for (; at < text.length; at++) {
      const code = text.charCodeAt(at)
      if (code === comma || code === quote || isLineEnd(code)) break
    }
    this.#state = 'plain'
    this.#append(text.slice(start, at))
    return at < text.length ? this.#separator(text.charCodeAt(at), at) : at
  }

  #quoted(text: string, start: number): number {
    let at = text.indexOf('"', start)
    // A doubled quote stands for one; the second one may be in the next piece.
    while (at >= 0 && text.charCodeAt(at + 1) === quote) at = text.indexOf('"', at + 2)
    const end = at < 0 ? text.length : at
    const part = text.slice(start, end)
    this.#lines += lineEndsIn(part, this.#endsWithReturn)
    this.#endsWithReturn = part.endsWith('\r')
    this.#append(part.includes('"') ? part.replaceAll('""', '"') : part)
    if (at < 0) return end
    this.#state = 'after quote'
    return end + 1
  }

  /** Ends a field at a separator. */
  #separator(code: number, at: number): number {
    if (code === comma) {
      this.#endField()
      this.#state = 'start'
    } else if (isLineEnd(code)) {
      this.#endRecord()
      if (code === carriageReturn) this.#state = 'after return'
    } else throw new CsvSyntaxError('syntax', at)
    return at + 1
  }

  #append(part: string): void {
    this.#length += part.length
    this.#field = this.#field === '' ? part : this.#field + part
  }

  #endField(): void {
    this.#length += 1
    if (this.#fields.length < this.#mostFields()) this.#fields.push(this.#field)
    this.#field = ''
    this.#endsWithReturn = false
  }

  #endRecord(): void {
    this.#endField()
    const fields = this.#fields
    const [lines, length] = [this.#lines, this.#length]
    this.#fields = []
    this.#lines = 1
    this.#length = 0
    this.#state = 'start'
    this.#onRecord(fields, lines, length)
  }
}
