// Conditional requests and keyset pages made of other requests: with real entity tags and cursors of earlier responses,
// also of other requests and callers, and with forged ones.
import type { Attack, Header } from './generated-attacks.ts'
import { linksOf } from './page-walk.ts'
import type { RawResponse } from './raw-connection.ts'
import type { Random } from './seeded-random.ts'

const forged = ['*', '"x"', 'W/"x"', '"1/abc"', '""', '"', '', '"%00"', '"1", "2"', '*, "a"', '"0"', '\xff'] as const
const forgedCursors = ['x', 'A'.repeat(80), '-', 'a.b', ''] as const
/** Number of tags and of links that are kept. */
const most = 60

const cursorIn = (query: readonly string[]): string | undefined => query.find((part) => part.startsWith('cursor='))

/** Changes one character. */
function bitFlipped(text: string, { below }: Random): string {
  const at = below(text.length)
  return text.slice(0, at) + (text[at] === 'A' ? 'B' : 'A') + text.slice(at + 1)
}

export class GeneratedConditions {
  readonly #random: Random
  readonly #tagged: { readonly attack: Attack; readonly tag: string }[] = []
  /** Requests for other pages, as links have them. */
  readonly #pages: Attack[] = []

  constructor(random: Random) {
    this.#random = random
  }

  /** Collects the tag and the links of a response. */
  note(attack: Attack, { headers }: RawResponse): void {
    const value = (name: string): string | null => headers.find(([other]) => other === name)?.[1] ?? null
    const tag = value('etag')
    if (tag !== null) this.#keep(this.#tagged, { attack, tag })
    for (const link of Object.values(linksOf(value('link'), attack.path))) {
      this.#keep(this.#pages, { ...attack, query: link.slice(link.indexOf('?') + 1).split('&') })
    }
  }

  /** A request with conditions, for a page, or with the cursor of another; most often the request itself. */
  of(attack: Attack): Attack {
    const { chance } = this.#random
    if (chance(0.75)) return attack
    if (chance(0.4)) return this.#conditional(attack)
    if (chance(0.3)) return this.#withHeader(attack, ['Prefer', 'pagination=keyset'])
    return this.#page(attack)
  }

  #keep<T>(list: T[], item: T): void {
    if (list.length < most) list.push(item)
    else list[this.#random.below(most)] = item
  }

  #one<T>(list: readonly T[]): T | undefined {
    return list[this.#random.below(list.length)]
  }

  #withHeader(attack: Attack, header: Header): Attack {
    return { ...attack, headers: [...attack.headers, header] }
  }

  #conditional(attack: Attack): Attack {
    const { pick, chance } = this.#random
    const known = chance(0.7) ? this.#one(this.#tagged) : undefined
    const tag = known?.tag ?? pick(forged)
    const value = chance(0.2) ? `"other", W/${tag}, ${tag}` : tag
    return this.#withHeader(known && chance(0.6) ? known.attack : attack, [
      pick(['If-None-Match', 'If-None-Match', 'If-Match']),
      value,
    ])
  }

  /** The page of a link, or its cursor in another request. */
  #page(attack: Attack): Attack {
    const { pick, chance } = this.#random
    const page = this.#one(this.#pages)
    if (page && chance(0.6)) return page
    const real = page && cursorIn(page.query)
    const cursor = real === undefined || chance(0.3) ? `cursor=${pick(forgedCursors)}` : real
    return { ...attack, query: [...attack.query, chance(0.2) ? bitFlipped(cursor, this.#random) : cursor] }
  }
}
