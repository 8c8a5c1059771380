// The layout of the pages of guides: contents, search, and the page. They work without scripts, and load no other files.
import { escapeHtml } from '../auth/mail/html-text.ts'
import type { ContentsGroup } from './guide-contents.ts'
import { guideHtml, sectionsOf } from './guide-html.ts'
import type { Hit } from './guide-search.ts'
import { guideStyle } from './guide-style.ts'
import { linkTarget, type Guide } from './guides.ts'

/** A link to another page of the server, relative to the page of contents. */
export type PageLink = { readonly text: string; readonly href: string }

export type Layout = {
  readonly contents: readonly ContentsGroup[]
  readonly links: readonly PageLink[]
}

/** Where a page is: links are relative, so that they work at any mount path, also behind a proxy that changes it. */
export type Place = {
  /** The slashes in its path below that of the contents. */
  readonly depth: number
  /** The guide that it shows, if any. */
  readonly guide?: Guide
}

const upwards = ({ depth }: Place): string => '../'.repeat(depth)

const hrefTo = (place: Place, { topic }: Pick<Guide, 'topic'>): string => `${upwards(place)}${topic}` || './'

/** The page of a guide. */
export function guidePage(layout: Layout, guide: Guide, byFile: ReadonlyMap<string, Guide>): string {
  const place = { depth: depthOf(guide.topic), guide }
  const html = guideHtml(guide.text, (target) => {
    if (/^https?:/.test(target)) return target
    const { file, hash } = linkTarget(guide, target)
    const linked = byFile.get(file)
    return linked && (linked === guide && hash !== '' ? hash : `${hrefTo(place, linked)}${hash}`)
  })
  return page(layout, place, guide.title, html)
}

/** The depth of the page of a topic, or of another path below that of the contents. */
export const depthOf = (path: string): number => path.split('/').length - 1

export function searchPage(layout: Layout, query: string, words: readonly string[], hits: readonly Hit[]): string {
  const place = { depth: 0 }
  const shown = hits.map(
    ({ guide, section, excerpt }) => `<div class="hit">
<a href="${hrefTo(place, guide)}#${escapeHtml(section.anchor)}">${escapeHtml(section.title === guide.title ? guide.title : `${guide.title}: ${section.title}`)}</a>
<p>${marked(excerpt, words)}</p>
</div>
`,
  )
  const none = '<p>No guide contains all these words. Fewer words, or the beginning of one, find more.</p>\n'
  return page(layout, place, 'Search', `<h1>Search</h1>\n${shown.join('') || none}`, query)
}

/** @param proposals guides that may be meant */
export function missingPage(layout: Layout, depth: number, proposals: readonly Guide[]): string {
  const place = { depth }
  const list = proposals.map((guide) => `<li><a href="${hrefTo(place, guide)}">${escapeHtml(guide.title)}</a></li>\n`)
  const meant = list.length === 0 ? '' : `<p>Did you mean:</p>\n<ul>\n${list.join('')}</ul>\n`
  return page(
    layout,
    place,
    'Not found',
    `<h1>There is no such guide</h1>\n${meant}<p>The contents list all guides.</p>\n`,
  )
}

/** Text in which words are highlighted, whatever their case. */
function marked(text: string, words: readonly string[]): string {
  const pattern = words.map((word) => word.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&')).join('|')
  return text
    .split(new RegExp(`(${pattern})`, 'gi'))
    .map((part, index) => (index % 2 === 0 ? escapeHtml(part) : `<mark>${escapeHtml(part)}</mark>`))
    .join('')
}

function navigation({ contents }: Layout, place: Place): string {
  const item = (guide: Guide, name: string, below = ''): string => {
    const current = guide === place.guide
    const headings = current ? sectionsOf(guide.text).filter(({ level }) => level === 2) : []
    const sections = headings.map(({ anchor, title }) => `<li><a href="#${anchor}">${escapeHtml(title)}</a></li>`)
    const nested = `${sections.join('')}${below}`
    return `<li><a href="${hrefTo(place, guide)}"${current ? ' aria-current="page"' : ''}>${escapeHtml(name)}</a>${nested && `<ul>${nested}</ul>`}</li>`
  }
  const groups = contents.map(
    ({ task, entries }) => `<p>${escapeHtml(task)}</p>
<ul>${entries.map(({ guide, name, below }) => item(guide, name, below.map((it) => item(it, it.title)).join(''))).join('')}</ul>
`,
  )
  return `<nav class="contents" id="contents" aria-label="Contents">\n<h2>I want to …</h2>\n${groups.join('')}</nav>\n`
}

function page(layout: Layout, place: Place, title: string, html: string, query = ''): string {
  const up = upwards(place)
  const links = layout.links.map(({ text, href }) => `<a href="${up}${href}">${escapeHtml(text)}</a>\n`)
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escapeHtml(title === 'rowhouse' ? 'rowhouse' : `${title} – rowhouse`)}</title>
<style>${guideStyle}</style>
</head>
<body>
<header>
<a class="name" href="${up || './'}">rowhouse</a>
<a class="to-contents" href="#contents">Contents</a>
${links.join('')}<form action="${up || './'}" role="search"><input type="search" name="q" value="${escapeHtml(query)}" placeholder="Search the guides" aria-label="Search the guides" maxlength="100"></form>
</header>
<div class="columns">
<main>
${html}</main>
${navigation(layout, place)}</div>
</body>
</html>
`
}
