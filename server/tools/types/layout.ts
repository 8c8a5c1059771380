// Lays text out in lines of limited width, with the algorithm of Prettier's printer: a group is written on one line if it
// fits, and otherwise broken at its own lines.

export type Layout =
  | string
  | readonly Layout[]
  | { readonly kind: 'indent'; readonly contents: Layout }
  /** `isBroken` for one that contains a hard line. */
  | { readonly kind: 'group'; readonly contents: Layout; readonly isBroken: boolean }
  /** A line break in a broken group; otherwise `flat`. */
  | { readonly kind: 'line'; readonly flat: string; readonly isHard: boolean }
  | { readonly kind: 'choice'; readonly broken: Layout; readonly flat: Layout }

export const indent = (contents: Layout): Layout => ({ kind: 'indent', contents })
export const group = (contents: Layout, isBroken = containsBreak(contents)): Layout => ({
  kind: 'group',
  contents,
  isBroken,
})
/** A blank, or a line break. */
export const line: Layout = { kind: 'line', flat: ' ', isHard: false }
/** Nothing, or a line break. */
export const softLine: Layout = { kind: 'line', flat: '', isHard: false }
/** A line break that breaks all groups around it. */
export const hardLine: Layout = { kind: 'line', flat: '', isHard: true }
/** One text in a broken group, and another in a group on one line. */
export const choice = (broken: Layout, flat: Layout = ''): Layout => ({ kind: 'choice', broken, flat })

/** The items with a separator between them. */
export const join = (separator: Layout, items: readonly Layout[]): Layout =>
  items.map((item, index) => (index === 0 ? item : [separator, item]))

const isList = (layout: Layout): layout is readonly Layout[] => Array.isArray(layout)

function containsBreak(layout: Layout): boolean {
  if (typeof layout === 'string') return false
  if (isList(layout)) return layout.some(containsBreak)
  switch (layout.kind) {
    case 'indent':
      return containsBreak(layout.contents)
    case 'group':
      return layout.isBroken
    case 'line':
      return layout.isHard
    case 'choice':
      return containsBreak(layout.broken)
    default:
      return layout satisfies never
  }
}

type Command = { readonly depth: number; readonly isFlat: boolean; readonly layout: Layout }

const step = 2

/** Writes a layout with lines of at most `width` characters, where it can be broken. */
export function render(layout: Layout, width = 80): string {
  const lines: string[] = []
  let text = ''
  const commands: Command[] = [{ depth: 0, isFlat: false, layout }]
  for (let command = commands.pop(); command; command = commands.pop()) {
    const { depth, isFlat, layout } = command
    if (typeof layout === 'string') {
      text += layout
      continue
    }
    if (isList(layout)) {
      commands.push(...layout.map((item) => ({ depth, isFlat, layout: item })).reverse())
      continue
    }
    switch (layout.kind) {
      case 'indent':
        commands.push({ depth: depth + step, isFlat, layout: layout.contents })
        break
      case 'group': {
        const flat = { depth, isFlat: true, layout: layout.contents }
        const fitsFlat = !layout.isBroken && (isFlat || fits(flat, commands, width - text.length))
        commands.push(fitsFlat ? flat : { ...flat, isFlat: false })
        break
      }
      case 'choice':
        commands.push({ depth, isFlat, layout: isFlat ? layout.flat : layout.broken })
        break
      case 'line':
        if (isFlat && !layout.isHard) {
          text += layout.flat
        } else {
          lines.push(text.trimEnd())
          text = ' '.repeat(depth)
        }
        break
      default:
        layout satisfies never
    }
  }
  return [...lines, text].join('\n')
}

/** Whether the text up to the next line break fits: that of `next`, and what follows it on the same line. */
function fits(next: Command, following: readonly Command[], width: number): boolean {
  let left = width
  let index = following.length
  const commands = [next]
  while (left >= 0) {
    const command = commands.pop() ?? following[--index]
    if (!command) return true
    const { depth, isFlat, layout } = command
    if (typeof layout === 'string') left -= layout.length
    else if (isList(layout)) commands.push(...layout.map((item) => ({ depth, isFlat, layout: item })).reverse())
    else if (layout.kind === 'indent') commands.push({ ...command, layout: layout.contents })
    else if (layout.kind === 'choice') commands.push({ ...command, layout: isFlat ? layout.flat : layout.broken })
    else if (layout.kind === 'group') {
      commands.push({ depth, isFlat: isFlat && !layout.isBroken, layout: layout.contents })
    } else if (!isFlat || layout.isHard) return true
    else left -= layout.flat.length
  }
  return false
}
