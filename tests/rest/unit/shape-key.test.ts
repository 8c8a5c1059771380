// Keys of request shapes are equal only if all parts are equal.
import t from 'tap'
import { keyPart, partKind, type PartKind } from '../../../server/rest/request/shape-key.ts'
import { seededRandom, testSeed } from '../../support/seeded-random.ts'

type Part = readonly [PartKind, string]

const kinds = Object.values(partKind) as [PartKind, ...PartKind[]]
const keyOf = (parts: readonly Part[]): string => parts.map(([kind, text]) => keyPart(kind, text)).join('')

/** Decodes a key: a key that can be decoded is unambiguous. */
function partsOf(key: string): Part[] {
  const parts: Part[] = []
  for (let at = 0; at < key.length;) {
    const colon = key.indexOf(':', at)
    const end = colon + 1 + Number(key.slice(at + 1, colon))
    parts.push([key[at] as PartKind, key.slice(colon + 1, end)])
    at = end
  }
  return parts
}

t.test('different sequences of parts have different keys', async (t) => {
  const { pick, some, below } = seededRandom(testSeed(7))
  const pieces: [string, ...string[]] = [
    '',
    '0',
    '1',
    '1:',
    ':',
    'm1:',
    't0:',
    'h5:range',
    'v3:0-1',
    '\n',
    '&',
    '=',
    'range:0-1',
    'é',
    '😀',
    '\0',
    'a',
  ]
  const text = (): string => some(0, 4, () => pick(pieces)).join('')
  const sequences = new Map<string, string>()
  for (let time = 0; time < 50_000; time++) {
    const parts = some(0, 5, (): Part => [pick(kinds), text()])
    // Near misses: the same texts, split differently or with other types.
    const joined = parts.map(([, part]) => part).join('')
    const cut = below(joined.length + 1)
    const near: Part[] = [
      [pick(kinds), joined.slice(0, cut)],
      [pick(kinds), joined.slice(cut)],
    ]
    for (const sequence of [parts, near]) {
      const key = keyOf(sequence)
      const written = JSON.stringify(sequence)
      const other = sequences.get(key)
      if (other !== undefined && other !== written) t.equal(other, written, key)
      sequences.set(key, written)
      if (time % 100 === 0) t.strictSame(partsOf(key), sequence)
    }
  }
  t.ok(sequences.size > 50_000)
})
