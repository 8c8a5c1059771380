// The guides beside the code, which the package contains: finds them by their topic, and reads them.
import { readdir, readFile } from 'node:fs/promises'

/** From the built program in `dist`, too. */
const folder = new URL('../../../server/', import.meta.url)

export type Guide = {
  /** Relative to the folder `server`. */
  readonly file: string
  /** The path of its file without `server/`, `extensions/`, `README` and the suffix: `rest/batch`, `running/deploy`. */
  readonly topic: string
  readonly title: string
  /** The first paragraph: what the guide is for. */
  readonly purpose: string
  readonly text: string
}

/** The topic of the page whose path is relative to the folder of the guides; that of the first page is `start`. */
const topicOf = (file: string): string =>
  file
    .replace(/\.md$/, '')
    .replace('/extensions/', '/')
    .replace(/(?:^|\/)README$/, '') || 'start'

/** The README of the project as a guide: the first page, which lists the others. Undefined where it is not installed. */
export async function readOverview(): Promise<Guide | undefined> {
  const file = '../README.md'
  const text = await readFile(new URL(file, folder), 'utf8').catch(() => undefined)
  return text === undefined ? undefined : guideOf(file, text, '')
}

/** All guides, in the order of their topics; none where the program is installed without them. */
export async function readGuides(): Promise<readonly Guide[]> {
  const files = await readdir(folder, { recursive: true, encoding: 'utf8' }).catch(() => [])
  const paths = files
    .map((file) => file.replaceAll('\\', '/'))
    .filter((file) => file.endsWith('.md'))
    .sort()
  return Promise.all(paths.map(async (file) => guideOf(file, await readFile(new URL(file, folder), 'utf8'))))
}

function guideOf(file: string, text: string, topic = topicOf(file)): Guide {
  const [title = '', purpose = ''] = text.split('\n\n', 2)
  return { file, topic, title: title.replace(/^# /, ''), purpose: plain(purpose), text }
}

/** The path of the file that a guide links to, relative to the folder of the guides' file names, and the anchor with its `#`. */
export function linkTarget(
  { file }: Pick<Guide, 'file'>,
  target: string,
): { readonly file: string; readonly hash: string } {
  const { pathname, hash } = new URL(target, new URL(file, guidesUrl))
  const below = guidesUrl.pathname
  return { file: pathname.startsWith(below) ? pathname.slice(below.length) : `..${pathname}`, hash }
}

/** Stands for the folder of the guides when links are resolved. */
const guidesUrl = new URL('file:///server/')

/** The anchor of a heading, as GitHub names it. */
export const anchorOf = (heading: string): string =>
  heading
    .toLowerCase()
    .replace(/[^\p{L}\p{N}_\- ]/gu, '')
    .replaceAll(' ', '-')

/** The text of a guide without the marks of its recipes. */
export const withoutMarks = (text: string): string => text.replace(/^<!-- .* -->\n\n?/gm, '')

/** The guides that a word means: one by its topic or the end of it, otherwise all whose topic, title or purpose contain it. */
export function findGuides(guides: readonly Guide[], word: string): readonly Guide[] {
  const wanted = word.toLowerCase()
  const exact = guides.filter(({ topic }) => topic === wanted)
  if (exact.length > 0) return exact
  const named = guides.filter(({ topic, title }) => topic.endsWith(`/${wanted}`) || title.toLowerCase() === wanted)
  if (named.length > 0) return named
  return guides.filter(({ topic, title, purpose }) => `${topic}\n${title}\n${purpose}`.toLowerCase().includes(wanted))
}

/** Text without the targets of links, in one line. */
export const plain = (text: string): string => text.replace(/\[([^\]]*)\]\([^)\s]*\)/g, '$1').replace(/\s*\n\s*/g, ' ')

/** A guide for a terminal: without the marks of its recipes, and with the topics of the guides that it links to. */
export function guideForTerminal(guide: Guide): string {
  const shown = (name: string, target: string): string => {
    const { file } = linkTarget(guide, target)
    return file === guide.file || file.startsWith('../') || !file.endsWith('.md') ? name : `${name} (${topicOf(file)})`
  }
  return withoutMarks(guide.text).replace(/\[([^\]]*)\]\(([^)\s:]+)\)/g, (_link, name: string, target: string) =>
    shown(name, target),
  )
}
