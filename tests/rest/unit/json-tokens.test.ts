// What is read from the tokens of a JSON text is what `JSON.parse` reads: generated texts, with signs of JSON in strings.
import t from 'tap'
import { exactClaims } from '../../../server/identity/jwt/exact-claims.ts'
import { JsonDocument } from '../../../server/text/json-document.ts'
import { jsonElements, jsonMembers } from '../../../server/text/json-members.ts'
import { readJson } from '../../../server/text/json-text.ts'
import { endOfValue, JsonTokens } from '../../../server/text/json-tokens.ts'
import { seededRandom, testSeed } from '../../support/seeded-random.ts'

const seed = testSeed(7)
const { pick, some, chance } = seededRandom(seed)

const signs = [
  '{',
  '}',
  '[',
  ']',
  ':',
  ',',
  ' ',
  '\\"',
  '\\\\',
  '\\/',
  '\\n',
  '\\u0022',
  '\\u005c',
  'a',
  'é',
  '👍',
] as const
const numbers = ['0', '-0', '1.50', '-2E+5', '12345678901234567890', '0.1e-7', '9007199254740993'] as const
const space = (): string => (chance(0.3) ? pick([' ', '\n\t', '\r\n  ']) : '')
const string = (): string => `"${some(0, 4, () => pick(signs)).join('')}"`
const scalar = (): string => pick([string, string, () => pick(numbers), () => pick(['true', 'false', 'null'])])()
const name = (): string => pick([string, () => pick(['"a"', '"\\u0061"', '"__proto__"', '"1"', '"a/b~c"', '""'])])()

/** The text of a value. */
function json(depth: number): string {
  const inner = (): string => `${space()}${json(depth - 1)}${space()}`
  if (depth === 0 || chance(0.2)) return scalar()
  if (chance(0.5)) return `[${some(0, 4, inner).join(',') || space()}]`
  return `{${some(0, 4, () => `${space()}${name()}${space()}:${inner()}`).join(',') || space()}}`
}

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

const kindOf = ({ kind, isName }: JsonTokens): string => (isName ? 'name' : kind)

/** The tokens of a text, written without white space. */
function compact(text: string): string {
  let written = ''
  let last = ''
  const tokens = new JsonTokens(text)
  for (let next = tokens.next(); next; next = tokens.next()) {
    const kind = kindOf(tokens)
    const isFirst = last === '' || last === '{' || last === '[' || last === 'name'
    written += `${isFirst || kind === '}' || kind === ']' ? '' : ','}${tokens.text}${kind === 'name' ? ':' : ''}`
    last = kind
    if ((kind === 'name' || kind === 'string') && tokens.value !== JSON.parse(tokens.text)) t.fail(tokens.text)
  }
  return written
}

/** All values by their pointers. */
function* valuesOf(value: unknown, pointer = ''): Generator<readonly [pointer: string, value: unknown]> {
  yield [pointer, value]
  if (typeof value !== 'object' || value === null) return
  for (const [key, child] of Object.entries(value)) {
    yield* valuesOf(child, `${pointer}/${key.replaceAll('~', '~0').replaceAll('/', '~1')}`)
  }
}

t.test('generated texts', async (t) => {
  for (let round = 0; round < 2000; round++) {
    const text = `${space()}${json(4)}${space()}`
    const value: unknown = JSON.parse(text)
    const same = (found: unknown, expected: unknown, what: string): void => {
      if (JSON.stringify(found) !== JSON.stringify(expected)) t.strictSame(found, expected, `${what} of ${text}`)
    }
    same(JSON.parse(compact(text)), value, 'the tokens')
    same(compact(compact(text)), compact(text), 'compact text')
    same(endOfValue(`${text.trim()}]`, 0), text.trim().length, 'the end')
    const members = Array.from(jsonMembers(text), ([key, member]) => [key, JSON.parse(member) as unknown] as const)
    same(Object.fromEntries(members), isObject(value) ? value : {}, 'members')
    const elements = jsonElements(text).map((element) => JSON.parse(element) as unknown)
    same(elements, Array.isArray(value) ? value : [], 'elements')
    const document = new JsonDocument(text)
    for (const [pointer, child] of valuesOf(value)) same(JSON.parse(document.at(pointer) ?? '""'), child, pointer)
  }
})

/** Whether an object of the text has a name twice: then it has fewer members after it was parsed. */
function hasTwice(text: string): boolean {
  let names = 0
  for (const tokens = new JsonTokens(text); tokens.next();) if (tokens.isName) names++
  const count = (value: unknown): number =>
    typeof value !== 'object' || value === null
      ? 0
      : Object.values(value).reduce<number>(
          (sum, child) => sum + count(child),
          isObject(value) ? Object.keys(value).length : 0,
        )
  return count(JSON.parse(text)) !== names
}

t.test('names that an object has twice', async (t) => {
  let twice = 0
  for (let round = 0; round < 2000; round++) {
    const text = json(3)
    const reading = readJson(text)
    if (hasTwice(text)) {
      twice++
      t.match(reading, { fault: 'has a name twice in one object' }, text)
    } else if (reading.kind === 'fault') t.fail(`${reading.fault}: ${text}`)
  }
  t.ok(twice > 100 && twice < 2000, `${twice} texts`)
})

t.test('digits that a double would lose count outside of strings only', async (t) => {
  t.equal(exactClaims('{"sub":"1e5 12345678901234567890","\\"1e5":true,"n":[1.5]}', 'r'), undefined)
  t.equal(
    exactClaims('{"b":[{"n":12345678901234567890}],"a":1}', 'r'),
    '{"a":1,"b":[{"n":12345678901234567890}],"role":"r"}',
  )
  t.equal(exactClaims('{"n":1E5}', 'r'), '{"n":1E5,"role":"r"}')
})

t.test('each token is read once, whatever is in it', async (t) => {
  const text = JSON.stringify({ ['"\\'.repeat(1000)]: ['\\'.repeat(100_000), { deep: '"'.repeat(100_000) }], n: 1 })
  const kinds: string[] = []
  for (const tokens = new JsonTokens(text); tokens.next();) kinds.push(kindOf(tokens))
  t.equal(kinds.join(' '), '{ name [ string { name string } ] name scalar }')
})
