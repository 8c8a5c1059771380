// Markdown of a guide to HTML. Raw HTML is shown as text, so that no guide adds elements to its page.
import { Lexer, Marked, Renderer, type Token, type Tokens } from 'marked'
import { escapeHtml } from '../auth/mail/html-text.ts'
import { anchorOf, withoutMarks } from './guides.ts'

/** A heading and the Markdown up to the next one. */
export type GuideSection = {
  readonly title: string
  readonly anchor: string
  readonly level: number
  readonly markdown: string
}

/** Returns the address that a link leads to from the page; undefined where no page has its target. */
export type HrefOf = (target: string) => string | undefined

/** The sections of a guide in their order; the first has its title. */
export function sectionsOf(markdown: string): readonly GuideSection[] {
  const sections: GuideSection[] = []
  const anchors = uniqueAnchors()
  // Only the blocks: their inline tokens, which take most of the time, are not needed.
  for (const token of new Lexer().blockTokens(withoutMarks(markdown))) {
    const last = sections.at(-1)
    if (isHeading(token))
      sections.push({
        title: token.text.replaceAll('`', ''),
        anchor: anchors(token.text),
        level: token.depth,
        markdown: '',
      })
    else if (last) sections[sections.length - 1] = { ...last, markdown: last.markdown + token.raw }
  }
  return sections
}

export const guideHtml = (markdown: string, hrefOf: HrefOf): string =>
  new Marked().parse(withoutMarks(markdown), { async: false, renderer: new GuideRenderer(hrefOf) })

const isHeading = (token: Token): token is Tokens.Heading => token.type === 'heading'

/** Names headings as GitHub does, which numbers those of the same name. */
function uniqueAnchors(): (heading: string) => string {
  const times = new Map<string, number>()
  return (heading) => {
    const anchor = anchorOf(heading)
    const time = times.get(anchor) ?? 0
    times.set(anchor, time + 1)
    return time === 0 ? anchor : `${anchor}-${time}`
  }
}

class GuideRenderer extends Renderer {
  readonly #hrefOf: HrefOf
  readonly #anchors = uniqueAnchors()

  constructor(hrefOf: HrefOf) {
    super()
    this.#hrefOf = hrefOf
  }

  override heading({ text, tokens, depth }: Tokens.Heading): string {
    const anchor = escapeHtml(this.#anchors(text))
    return `<h${depth} id="${anchor}">${this.parser.parseInline(tokens)} <a class="anchor" href="#${anchor}" aria-label="Link to this section">#</a></h${depth}>\n`
  }

  override link({ href, tokens }: Tokens.Link): string {
    const text = this.parser.parseInline(tokens)
    const address = this.#hrefOf(href)
    return address === undefined ? text : `<a href="${escapeHtml(address)}">${text}</a>`
  }

  /** Pages load nothing. */
  override image({ text }: Tokens.Image): string {
    return escapeHtml(text)
  }

  override html({ text }: Tokens.HTML | Tokens.Tag): string {
    return escapeHtml(text)
  }

  /** A wide table scrolls, instead of the page. */
  override table(token: Tokens.Table): string {
    return `<div class="table">${super.table(token)}</div>\n`
  }
}
