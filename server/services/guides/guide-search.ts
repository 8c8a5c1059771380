// The search in the guides: finds the sections that contain all words of a query.
import { setImmediate as nextTurn } from 'node:timers/promises'
import { plain, type Guide } from './guides.ts'
import { sectionsOf, type GuideSection } from './guide-html.ts'

export type Hit = {
  readonly guide: Guide
  readonly section: Pick<GuideSection, 'title' | 'anchor'>
  /** The text around the first word. */
  readonly excerpt: string
}

export type GuideSearch = (words: readonly string[]) => readonly Hit[]

/** What is beyond these limits of a query is ignored. */
export const longestQuery = 100
const mostWords = 8
const mostHits = 30
const excerptLength = 200

/** The words of a query, in lower case. */
export const wordsOf = (query: string): readonly string[] =>
  query
    .toLowerCase()
    .split(/\s+/)
    .filter((word) => word !== '')
    .slice(0, mostWords)

type Searched = {
  readonly guide: Guide
  readonly section: GuideSection
  readonly text: string
  /** What is searched, in lower case. */
  readonly lower: { readonly title: string; readonly text: string }
}

/** Prepares the search, one guide per turn of the event loop: it takes some 50 ms. */
export async function guideSearch(guides: readonly Guide[]): Promise<GuideSearch> {
  const all: Searched[] = []
  for (const guide of guides) {
    all.push(...searchedParts(guide))
    await nextTurn()
  }
  return (words) => find(all, words)
}

const searchedParts = (guide: Guide): readonly Searched[] =>
  sectionsOf(guide.text).map((section) => {
    const text = plainText(section.markdown)
    const title = `${section.title}\n${guide.title}\n${guide.topic}`
    return { guide, section, text, lower: { title: title.toLowerCase(), text: text.toLowerCase() } }
  })

/** Titles count more than text; hits that count the same are in the order of the guides. */
const find = (all: readonly Searched[], words: readonly string[]): readonly Hit[] =>
  words.length === 0
    ? []
    : all
        .filter(({ lower }) => words.every((word) => lower.title.includes(word) || lower.text.includes(word)))
        .map((found) => ({ ...found, weight: words.filter((word) => found.lower.title.includes(word)).length }))
        .sort((a, b) => b.weight - a.weight)
        .slice(0, mostHits)
        .map(({ guide, section, text, lower }) => ({ guide, section, excerpt: excerptOf(text, lower.text, words) }))

/** Markdown without its marks, in one line. */
const plainText = (markdown: string): string =>
  plain(
    markdown
      .replace(/^```.*$/gm, '')
      .replace(/^\|[-| :]+\|$/gm, '')
      .replace(/[`*]/g, '')
      .replace(/\\?\|/g, ' '),
  )
    .replace(/\s+/g, ' ')
    .trim()

function excerptOf(text: string, searched: string, words: readonly string[]): string {
  const places = words.map((word) => searched.indexOf(word)).filter((place) => place >= 0)
  const first = places.length === 0 ? 0 : Math.min(...places)
  const start = first < excerptLength / 2 ? 0 : text.lastIndexOf(' ', first - excerptLength / 4) + 1
  const end = start + excerptLength
  return `${start > 0 ? '… ' : ''}${text.slice(start, end)}${end < text.length ? ' …' : ''}`
}
