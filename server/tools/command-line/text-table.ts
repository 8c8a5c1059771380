// Formats plain-text tables.

export type TextColumn = {
  readonly title: string
  /** The most characters of a line. */
  readonly width: number
  /** Whether the column becomes as wide as its longest cell, and the others narrower. */
  readonly isWhole?: boolean
}

/** Wraps text into lines of at most `width` characters, at blanks if possible. */
export function wrap(text: string, width: number): string[] {
  const lines: string[] = []
  for (const paragraph of text.split('\n')) {
    let line = ''
    for (const word of paragraph.split(' ')) {
      if (line !== '' && line.length + 1 + word.length <= width) {
        line += ` ${word}`
        continue
      }
      if (line !== '') lines.push(line)
      line = word
      while (line.length > width) {
        lines.push(line.slice(0, width))
        line = line.slice(width)
      }
    }
    lines.push(line)
  }
  return lines
}

/** Replaces control characters, which names in the catalog may contain and terminals would interpret. */
export const printable = (text: string): string => text.replace(/[\p{Cc}\p{Cf}]/gu, '�')

/** One row of a table: wraps each cell within its column, without trailing blanks. */
export function textRow(columns: readonly TextColumn[], cells: readonly string[]): string[] {
  const wrapped = columns.map(({ width }, index) => wrap(cells[index] ?? '', width))
  const height = Math.max(...wrapped.map((lines) => lines.length))
  return Array.from({ length: height }, (_, line) =>
    columns
      .map(({ width }, index) => (wrapped[index]?.[line] ?? '').padEnd(width))
      .join(' '.repeat(gap))
      .trimEnd(),
  )
}

/** Characters that a column keeps when another one needs its place. */
const leastWidth = 12
const gap = 2

/**
 * The column widths that the rows actually need.
 *
 * @param total the most characters of a row; what columns need beyond that because they must not be broken, the widest others give
 */
export function fitted(
  columns: readonly TextColumn[],
  rows: readonly (readonly string[])[],
  total = Infinity,
): TextColumn[] {
  const needed = columns.map(({ title, width, isWhole }, index) => {
    const longest = Math.max(
      title.length,
      ...rows.flatMap((row) => (row[index] ?? '').split('\n').map(({ length }) => length)),
    )
    return { title, width: isWhole === true ? longest : Math.min(width, longest), isWhole: isWhole === true }
  })
  const excess = (): number => needed.reduce((sum, { width }) => sum + width + gap, -gap) - total
  for (let left = excess(); left > 0; left = excess()) {
    const widest = needed.filter(({ isWhole }) => !isWhole).reduce((a, b) => (b.width > a.width ? b : a))
    if (widest.width <= leastWidth) break
    widest.width--
  }
  return needed
}

/** A table with its header. */
export function textTable(columns: readonly TextColumn[], rows: readonly (readonly string[])[]): string {
  const narrow = fitted(columns, rows)
  const titles = textRow(
    narrow,
    narrow.map(({ title }) => title),
  )
  return [...titles, ...rows.flatMap((row) => textRow(narrow, row))].join('\n')
}
