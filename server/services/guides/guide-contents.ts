// The contents of the guides, in the groups of the README's table "I want to … → page".
import { linkTarget, type Guide } from './guides.ts'

/** A guide by the name that the contents give it, and the guides that belong to it. */
export type ContentsEntry = {
  readonly name: string
  readonly guide: Guide
  readonly below: readonly Guide[]
}

export type ContentsGroup = {
  /** What a reader wants: `store files`. */
  readonly task: string
  readonly entries: readonly ContentsEntry[]
}

/**
 * Each guide is in the contents once. One that the table does not name is below the named guide whose folder it is in.
 *
 * @param overview has the table; undefined: there is one group
 */
export function contentsOf(overview: Guide | undefined, guides: readonly Guide[]): readonly ContentsGroup[] {
  const byFile = new Map(guides.map((guide) => [guide.file, guide]))
  const rows = (overview && tableRows(overview, byFile)) ?? []
  const named = new Set(rows.flatMap(({ links }) => links.map(({ guide }) => guide)))
  const below = new Map<Guide, Guide[]>()
  const others: ContentsEntry[] = []
  for (const guide of guides) {
    if (named.has(guide)) continue
    const parent = [...named]
      .filter(({ topic }) => guide.topic.startsWith(`${topic}/`))
      .reduce<Guide | undefined>((a, b) => (a && a.topic.length > b.topic.length ? a : b), undefined)
    if (parent) below.set(parent, [...(below.get(parent) ?? []), guide])
    else others.push({ name: guide.title, guide, below: [] })
  }
  const groups = rows.map(({ task, links }) => ({
    task,
    entries: links.map(({ name, guide }) => ({ name, guide, below: below.get(guide) ?? [] })),
  }))
  return [...groups, ...(others.length === 0 ? [] : [{ task: 'read more', entries: others }])]
}

type Row = { readonly task: string; readonly links: readonly { readonly name: string; readonly guide: Guide }[] }

/** The rows of the table that name guides. */
const tableRows = (overview: Guide, byFile: ReadonlyMap<string, Guide>): readonly Row[] =>
  Array.from(overview.text.matchAll(/^\| (?!-)(.*?) \| (.*) \|$/gm), ([, task = '', pages = '']) => ({
    task,
    links: Array.from(pages.matchAll(/\[([^\]]*)\]\(([^)\s]+)\)/g)).flatMap(([, name = '', target = '']) => {
      const guide = byFile.get(linkTarget(overview, target).file)
      return guide === undefined ? [] : [{ name: capitalised(name), guide }]
    }),
  })).filter(({ links }) => links.length > 0)

const capitalised = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1)
