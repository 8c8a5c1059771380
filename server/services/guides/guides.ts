// The guides beside the code, which the package contains: finds them by their topic, and reads them.
import { readdir, readFile } from 'node:fs/promises'

/** From the built program in `dist`, too. */
const folder = new URL('../../../server/', import.meta.url)

export type Guide = {
  /** Relative to the folder `server`. */
  readonly file: string
  /** The path of its file without `server/`, `README` and the suffix: `rest/batch`, `running/deploy`. */
  readonly topic: string
  readonly title: string
  /** The first paragraph: what the guide is for. */
  readonly purpose: string
  readonly text: string
}

/** The topic of the page whose path is relative to the folder of the guides; that of the first page is `start`. */
const topicOf = (file: string): string => file.replace(/\.md$/, '').replace(/(?:^|\/)README$/, '') || 'start'

/** All guides, in the order of their topics; none where the program is installed without them. */
export async function readGuides(): Promise<readonly Guide[]> {
  const files = await readdir(folder, { recursive: true, encoding: 'utf8' }).catch(() => [])
  const paths = files
    .map((file) => file.replaceAll('\\', '/'))
    .filter((file) => file.endsWith('.md'))
    .sort()
  return Promise.all(
    paths.map(async (file) => {
      const text = await readFile(new URL(file, folder), 'utf8')
      const [title = '', purpose = ''] = text.split('\n\n', 2)
      return { file, topic: topicOf(file), title: title.replace(/^# /, ''), purpose: plain(purpose), text }
    }),
  )
}

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
const plain = (text: string): string => text.replace(/\[([^\]]*)\]\([^)\s]*\)/g, '$1').replace(/\s*\n\s*/g, ' ')

/** A guide for a terminal: without the marks of its recipes, and with the topics of the guides that it links to. */
export function guideForTerminal({ file, text }: Guide): string {
  const place = new URL(file, 'file:///')
  const shown = (name: string, target: string): string => {
    const path = new URL(target, place).pathname.slice(1)
    return path === file || !path.endsWith('.md') ? name : `${name} (${topicOf(path)})`
  }
  return text
    .replace(/^<!-- .* -->\n\n?/gm, '')
    .replace(/\[([^\]]*)\]\(([^)\s:]+)\)/g, (_link, name: string, target: string) => shown(name, target))
}
