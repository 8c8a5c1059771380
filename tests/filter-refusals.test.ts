// Filters that name no operator: why they are refused is remembered by their first word and the character behind it.
import t from 'tap'
import { rest } from '../server/rest/request/combinators.ts'
import { parseFilter, test } from '../server/rest/request/filter.ts'
import { parse } from '../server/rest/request/parser.ts'
import { apiErrorOf } from './support/api-error.ts'
import { seededRandom } from './support/seeded-random.ts'

const operators =
  'eq neq gt gte lt lte like ilike match imatch in is isdistinct fts plfts phfts wfts cs cd ov sl sr nxr nxl adj not'
    .split(' ')
    .sort()
const additions = [
  's',
  'q',
  'e',
  'ual',
  '_',
  ' ',
  ',',
  ')',
  '"',
  '\\',
  '\n',
  '\t',
  '\0',
  'é',
  '地',
  '😀',
  '\ud83d',
  '1',
]
const followers = ['', '.', '(', '.1', '.eq.1', '(any).1', '(any', '..', '()', '.x\ny', '.😀', '.is.null)']

const { pick, some } = seededRandom(1)
const letters = [...'abcdefghilmnopqrstvwx_-'] as [string, ...string[]]
const words = [
  '',
  ...operators.flatMap((operator) => Array.from(operator, (_, length) => operator.slice(0, length))),
  ...operators.flatMap((operator) => additions.flatMap((text) => [operator + text, text + operator])),
  ...operators.map((operator) => operator.toUpperCase()),
  ...additions,
  'a word longer than any that is remembered',
  ...some(300, 300, () => some(1, 14, () => pick(letters)).join('')),
]

const wholeTest = test(rest)
/** The error of reading the whole text, with nothing remembered. */
const readInFull = (text: string) => apiErrorOf(() => parse(wholeTest, 'filter', text))
const read = (text: string) => apiErrorOf(() => parseFilter('a', text))

t.test('the error is that of reading the whole text, at first and when remembered', async (t) => {
  let refused = 0
  for (const word of new Set(words)) {
    if (operators.includes(word)) continue
    for (const follower of followers) {
      const text = word + follower
      const expected = readInFull(text)
      if (expected) refused += 1
      for (const use of ['first', 'second']) {
        const found = read(text)
        // Thousands of passing assertions would only be noise.
        if (JSON.stringify(found) !== JSON.stringify(expected)) t.strictSame(found, expected, `${use}: ${text}`)
      }
    }
  }
  t.ok(refused > 10_000, `${refused} texts`)
})

t.test('values are not remembered', async (t) => {
  for (const value of ['equals.1', 'equals.2', 'equals.2\n'])
    t.strictSame(
      read(value),
      {
        code: 'PGRST100',
        status: 400,
        message: `"failed to parse filter (${value})" (line 1, column 3)`,
        details: 'unexpected "u" expecting operator (eq, gt, ...)',
        hint: null,
      },
      value,
    )
})

t.test('a word is remembered with what is behind it', async (t) => {
  for (const [text, met] of [
    ['no.1', '"."'],
    ['no(1', '"("'],
    ['no', 'end of input'],
    ['no.1', '"."'],
  ] as const)
    t.match(read(text)?.details, `unexpected ${met} `, text)
})
