// Finding the text in a set that is most like another: n-gram vectors narrow the set down by their cosine, the edit
// distance decides. The algorithm of fuzzyset (https://github.com/axiak/fuzzyset, https://glench.github.io/fuzzyset.js/)
// with gram sizes 2 and 3, as its Haskell edition does it, so that hints come out the same.
import { editDistance } from './nearest-name.ts'

type Posting = { readonly entry: number; readonly count: number }

/** Texts by the n-grams in them. */
type GramIndex = {
  readonly size: number
  readonly postings: ReadonlyMap<string, readonly Posting[]>
  /** Length of each entry's vector. */
  readonly magnitudes: readonly number[]
}

export type FuzzySet = {
  /** Texts by their lower-case form. */
  readonly texts: ReadonlyMap<string, string>
  /** The lower-case forms, as code points. */
  readonly entries: readonly (readonly string[])[]
  /** Larger grams first; smaller ones are asked when those find nothing. */
  readonly indexes: readonly GramIndex[]
}

export type Match = { readonly text: string; /** 1 for the same text (apart from case). */ readonly score: number }

/** Score below which texts are not taken for alike. */
export const defaultScore = 0.33

/** How many candidates the edit distance is computed for. */
const candidateLimit = 50
/** Longer questions than this get no answer; names in a database are much shorter. In UTF-16 units. */
const longestQuestion = 4096
/** Most cells of edit distance tables that one question may cost (some milliseconds). */
const cellBudget = 2_000_000

/** Of texts that differ only in case, the lower-case one is kept, or else the first. */
export function fuzzySet(list: readonly string[]): FuzzySet {
  const texts = new Map<string, string>()
  for (const text of list) {
    const key = text.toLowerCase()
    if (key === text || !texts.has(key)) texts.set(key, text)
  }
  // The last text is the first entry, which is preferred among equals.
  const keys = [...texts.keys()].reverse()
  return { texts, entries: keys.map((key) => Array.from(key)), indexes: [gramIndex(keys, 3), gramIndex(keys, 2)] }
}

function gramIndex(keys: readonly string[], size: number): GramIndex {
  const postings = new Map<string, Posting[]>()
  const magnitudes = keys.map((key, entry) => {
    const vector = gramVector(key, size)
    for (const [gram, count] of vector) {
      const list = postings.get(gram)
      if (list) list.push({ entry, count })
      else postings.set(gram, [{ entry, count }])
    }
    return magnitude(vector)
  })
  return { size, postings, magnitudes }
}

const wordCharacter = /[\p{L}\p{N}\s,]/u

/** How often each n-gram occurs in a text; the ends of the text count as characters. */
function gramVector(key: string, size: number): Map<string, number> {
  const characters = ['-', ...Array.from(key).filter((character) => wordCharacter.test(character)), '-']
  const vector = new Map<string, number>()
  for (let at = 0; at + size <= characters.length; at++) {
    const gram = characters.slice(at, at + size).join('')
    vector.set(gram, (vector.get(gram) ?? 0) + 1)
  }
  return vector
}

function magnitude(vector: ReadonlyMap<string, number>): number {
  let squares = 0
  for (const count of vector.values()) squares += count * count
  return Math.sqrt(squares)
}

/** The text most like the question, if one scores at least `minimum`. */
export function closest(set: FuzzySet, question: string, minimum: number): Match | undefined {
  if (question.length > longestQuestion) return undefined
  const key = question.toLowerCase()
  const same = set.texts.get(key)
  if (same !== undefined) return { text: same, score: 1 }
  const characters = Array.from(key)
  for (const index of set.indexes) {
    const match = closestBy(set, index, key, characters, minimum)
    if (match) return match
  }
  return undefined
}

function closestBy(
  { texts, entries }: FuzzySet,
  index: GramIndex,
  key: string,
  characters: readonly string[],
  minimum: number,
): Match | undefined {
  let budget = cellBudget
  let best: { readonly entry: readonly string[]; readonly score: number } | undefined
  for (const at of candidates(index, key)) {
    const entry = entries[at] ?? []
    const shorter = Math.min(entry.length, characters.length)
    const longer = Math.max(entry.length, characters.length)
    // At best the shorter text is a part of the longer one.
    if (shorter / longer < Math.max(minimum, best?.score ?? 0)) continue
    budget -= shorter * longer
    if (budget < 0) break
    const score = (longer - editDistance(characters, entry)) / longer
    if (score >= minimum && score > (best?.score ?? 0)) best = { entry, score }
  }
  if (!best) return undefined
  const bestKey = best.entry.join('')
  return { text: texts.get(bestKey) ?? bestKey, score: best.score }
}

/** Entries that share grams with the text, the most similar vectors first. */
function candidates({ size, postings, magnitudes }: GramIndex, key: string): readonly number[] {
  const vector = gramVector(key, size)
  const products = new Float64Array(magnitudes.length)
  const found: number[] = []
  for (const [gram, count] of vector) {
    for (const posting of postings.get(gram) ?? []) {
      const product = products[posting.entry] ?? 0
      if (product === 0) found.push(posting.entry)
      products[posting.entry] = product + count * posting.count
    }
  }
  const length = magnitude(vector)
  const cosines = products.map((product, entry) => product / (length * (magnitudes[entry] ?? 1)))
  return found
    .sort((left, right) => (cosines[right] ?? 0) - (cosines[left] ?? 0) || left - right)
    .slice(0, candidateLimit)
}
