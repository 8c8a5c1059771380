// All pages of the guides, which are read once, at the first request.
import { bytesOfText, SecondChanceCache } from '../../common/second-chance-cache.ts'
import { nearestName } from '../../text/nearest-name.ts'
import { contentsOf } from './guide-contents.ts'
import { depthOf, guidePage, missingPage, searchPage, type Layout } from './guide-page.ts'
import { guideSearch, longestQuery, wordsOf, type GuideSearch } from './guide-search.ts'
import { findGuides, readGuides, readOverview, type Guide } from './guides.ts'

export type GuidePages = {
  /** The page of a topic; undefined: there is no such guide. The first page has the empty topic. */
  readonly guide: (topic: string) => string | undefined
  readonly search: (query: string) => Promise<string>
  /** @param path of the request, below that of the first page */
  readonly missing: (topic: string, path: string) => string
}

const cacheLimits = { entries: 100, bytes: 8 * 1024 * 1024 }

/** Links of pages below this depth, which are of no guide, lead nowhere: they would be as long as the path. */
const deepest = 8

export async function readPages(links: Layout['links']): Promise<GuidePages> {
  const [overview, guides] = await Promise.all([readOverview(), readGuides()])
  const layout = { contents: contentsOf(overview, guides), links }
  const pages = [...(overview ? [overview] : []), ...guides]
  const byTopic = new Map(pages.map((guide) => [guide.topic, guide]))
  const byFile = new Map(pages.map((guide) => [guide.file, guide]))
  const rendered = new SecondChanceCache<string>(cacheLimits)
  let search: Promise<GuideSearch> | undefined
  return {
    guide: (topic) => {
      const guide = byTopic.get(topic)
      if (guide === undefined) return undefined
      const known = rendered.get(topic)
      if (known !== undefined) return known
      const html = guidePage(layout, guide, byFile)
      rendered.add(topic, html, bytesOfText(html))
      return html
    },
    search: async (query) => {
      search ??= guideSearch(pages)
      const asked = query.slice(0, longestQuery)
      const words = wordsOf(asked)
      const find = await search
      return searchPage(layout, asked, words, find(words))
    },
    missing: (topic, path) => missingPage(layout, Math.min(depthOf(path), deepest), proposals(guides, topic)),
  }
}

const mostProposals = 10
const longestTopic = 80

/** The guides that a wrong topic may mean. */
function proposals(guides: readonly Guide[], topic: string): readonly Guide[] {
  if (topic === '' || topic.length > longestTopic) return []
  const word = topic.slice(topic.lastIndexOf('/') + 1)
  const found = word === '' ? [] : findGuides(guides, word)
  const near = nearestName(
    topic,
    guides.map((guide) => guide.topic),
  )
  return (found.length > 0 ? found : guides.filter((guide) => guide.topic === near)).slice(0, mostProposals)
}
