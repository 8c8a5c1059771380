// Formats rows for a terminal in psql's formats, with the widths of East Asian characters and emojis.
import stringWidth from 'string-width'
import type { ResultColumn } from '../../../postgres/connection/simple-statement.ts'

export type Format = {
  /** One line per column instead of one per row. */
  readonly expanded: boolean
  /** Without padding; columns are separated by `|`. */
  readonly unaligned: boolean
  /** Without names of columns and without the number of rows. */
  readonly tuplesOnly: boolean
}

export type Row = readonly (string | null)[]

/** OIDs of the types whose values are aligned to the right: integers, floating-point numbers, numeric, money, oid, xid. */
const numeric: ReadonlySet<number> = new Set([20, 21, 23, 26, 28, 29, 700, 701, 790, 1700, 5069])

const nullSign = '(null)'

/** Characters that a terminal would interpret, or that would reorder the text: shown as `\x1B` or `\u202E`. */
const hidden = /(?!\n)[\p{Cc}\u202a-\u202e\u2066-\u2069]/gu

const shown = (text: string): string =>
  text.replace(hidden, (sign) => {
    const code = sign.charCodeAt(0).toString(16).toUpperCase()
    return code.length > 2 ? `\\u${code.padStart(4, '0')}` : `\\x${code.padStart(2, '0')}`
  })

const isAscii = /^[ -~]*$/

/** Columns of a terminal that a line takes. */
export const displayWidth = (line: string): number => (isAscii.test(line) ? line.length : stringWidth(line))

type Cell = { readonly lines: readonly string[]; readonly widths: readonly number[]; readonly width: number }

function cellOf(value: string | null): Cell {
  const lines = value === null ? [nullSign] : shown(value).split('\n')
  const widths = lines.map(displayWidth)
  return { lines, widths, width: Math.max(...widths) }
}

const blank = (count: number): string => ' '.repeat(Math.max(0, count))

/**
 * Formats a result in parts, so that it needs not be complete in memory. Columns are as wide as the widest value of the
 * first part; wider values that follow move the rest of their line.
 */
export class ResultTable {
  readonly #columns: readonly ResultColumn[]
  readonly #format: Format
  readonly #titles: readonly Cell[]
  #widths: readonly number[] | undefined
  #count = 0

  constructor(columns: readonly ResultColumn[], format: Format) {
    this.#columns = columns
    this.#format = format
    this.#titles = columns.map(({ name }) => cellOf(name))
  }

  /** The next rows, after the names of the columns if they are the first ones. */
  part(rows: readonly Row[]): string {
    const { expanded, unaligned } = this.#format
    if (expanded) return rows.map((row) => this.#record(row)).join('')
    if (unaligned) return this.#unaligned(rows)
    const cells = rows.map((row) => row.map(cellOf))
    const head = this.#widths ? '' : this.#head(cells)
    this.#count += rows.length
    return head + cells.map((row) => this.#line(row)).join('')
  }

  /** What follows the last rows. */
  end(): string {
    const { expanded, unaligned, tuplesOnly } = this.#format
    const count = `(${this.#count} row${this.#count === 1 ? '' : 's'})\n`
    const head = this.#count === 0 && !expanded ? this.part([]) : ''
    if (tuplesOnly) return unaligned ? '' : '\n'
    if (expanded) return this.#count === 0 ? `${count}\n` : '\n'
    return `${head}${count}${unaligned ? '' : '\n'}`
  }

  #unaligned(rows: readonly Row[]): string {
    const isFirst = this.#widths === undefined
    this.#widths = []
    this.#count += rows.length
    const names = isFirst && !this.#format.tuplesOnly ? [this.#columns.map(({ name }) => name)] : []
    return [...names, ...rows].map((row) => `${row.map((value) => value ?? '').join('|')}\n`).join('')
  }

  #head(rows: readonly (readonly Cell[])[]): string {
    const widths = this.#titles.map(({ width }, index) =>
      rows.reduce((widest, row) => Math.max(widest, row[index]?.width ?? 0), width),
    )
    this.#widths = widths
    if (this.#format.tuplesOnly) return ''
    const titles = this.#titles.map(({ lines, width }, index) => {
      const left = Math.floor(((widths[index] ?? 0) - width) / 2)
      return ` ${blank(left)}${lines.join(' ')}${blank((widths[index] ?? 0) - width - left)} `
    })
    return `${titles.join('|')}\n${widths.map((width) => '-'.repeat(width + 2)).join('+')}\n`
  }

  /** A row, in as many lines as its highest value. A plus sign says that the value goes on in the next line. */
  #line(cells: readonly Cell[]): string {
    const height = Math.max(1, ...cells.map(({ lines }) => lines.length))
    return Array.from({ length: height }, (_, at) => {
      const parts = cells.map(({ lines, widths }, index) => {
        const fill = blank((this.#widths?.[index] ?? 0) - (widths[at] ?? 0))
        const text = lines[at] ?? ''
        const isRight = numeric.has(this.#columns[index]?.dataTypeID ?? 0)
        return ` ${isRight ? fill + text : text + fill}${at < lines.length - 1 ? '+' : ' '}`
      })
      return `${parts.join('|').trimEnd()}\n`
    }).join('')
  }

  #record(row: Row): string {
    this.#count++
    const width = Math.max(0, ...this.#titles.map((title) => title.width))
    const head = this.#format.tuplesOnly ? (this.#count === 1 ? '' : '\n') : `-[ RECORD ${this.#count} ]\n`
    const lines = row.flatMap((value, index) => {
      const title = this.#titles[index]
      return cellOf(value).lines.map((text, at) => {
        const name = at === 0 ? (title?.lines.join(' ') ?? '') : ''
        return `${name}${blank(width - displayWidth(name))} | ${text}`.trimEnd()
      })
    })
    return `${head}${lines.join('\n')}\n`
  }
}
