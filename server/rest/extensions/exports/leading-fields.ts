// The columns that precede those of a streamed response in each row of its statement.

/** What the first row tells of the response. */
export type LeadingFields = {
  readonly headersSetting: string | null
  readonly statusSetting: string | null
  /** Whether dates are in the format of ISO 8601. */
  readonly hasIsoDates: boolean
  /** Number of all rows, if it was requested. */
  readonly total: number | null
  /** Number of rows of the response, if it begins only when all of them are known. */
  readonly page: number | null
  /** Whether a function has returned rows, which filters and ranges may leave out. */
  readonly hasSource: boolean
}

/** Number of the columns: those of `LeadingFields`, and one that is null in a row without columns of the response. */
export const leadingColumns = 7

/** Reads the fields of the first row: the body of a DataRow message. */
export function readLeading(buffer: Buffer, start: number): LeadingFields {
  const texts: (string | null)[] = []
  let from = start + 2
  while (texts.length < leadingColumns) {
    const length = buffer.readInt32BE(from)
    from += 4
    texts.push(length < 0 ? null : buffer.toString('utf8', from, from + length))
    from += Math.max(length, 0)
  }
  const [headersSetting = null, statusSetting = null, isIso = null, total = null, page = null, hasSource = null] = texts
  return {
    headersSetting,
    statusSetting,
    hasIsoDates: isIso === 't',
    total: total === null ? null : Number(total),
    page: page === null ? null : Number(page),
    hasSource: hasSource === 't',
  }
}

/** Where the columns of the response begin in a row; negative if it has none. */
export function endOfLeading(buffer: Buffer, start: number): number {
  let from = start + 2
  for (let column = 1; column < leadingColumns; column++) from += 4 + Math.max(buffer.readInt32BE(from), 0)
  const last = buffer.readInt32BE(from)
  return last < 0 ? -1 : from + 4 + last
}
