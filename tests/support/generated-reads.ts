// Random read requests from the grammar of PostgREST's URLs and headers, over `fixtures/reads.sql`.
// Most are valid; some have a value of the wrong type, or a syntax error.
import { column, field, logicTree, operation } from './generated-filters.ts'
import { vocabularies, type Vocabulary } from './read-vocabulary.ts'
import type { Random } from './seeded-random.ts'
import type { SentRequest } from './sent-request.ts'
import { unknownTags } from './unknown-tags.ts'

function orderOf(random: Random, vocabulary: Vocabulary, related: readonly string[]): string {
  const terms = random.some(0, 2, () => {
    const way = random.pick(['', '.asc', '.desc']) + random.pick(['', '', '.nullsfirst', '.nullslast'])
    const [embed] = related
    if (embed !== undefined && random.chance(0.3)) return `${embed}(id)${way}`
    return field(random, column(random, vocabulary))[0] + way
  })
  return [...terms, vocabulary.order].join(',')
}

type Parameters = string[]
type Sources = readonly [Vocabulary, ...Vocabulary[]]

/** The vocabulary of the rows of a table. */
const vocabularyOf = (table: string, sources: Sources): Vocabulary =>
  sources.find(({ name, call }) => name === table && !call) ?? sources[0]

const isRange = (parameter: string): boolean => /\.(limit|offset)=/.test(parameter)

const aggregates = ['count', 'sum', 'avg', 'max', 'min'] as const

/** Grouping columns and aggregates; the first is a column to order by. */
function aggregation(random: Random, vocabulary: Vocabulary): readonly [string, string] {
  const [group] = random.pick(vocabulary.columns)
  const items = random.some(1, 2, (): string => {
    if (random.chance(0.3)) return random.chance(0.5) ? 'count()' : 'n:count()'
    const [name] = field(random, column(random, vocabulary))
    const cast = random.chance(0.3) ? '::text' : ''
    return `${random.chance(0.3) ? 'a:' : ''}${name}.${random.pick(aggregates)}()${cast}`
  })
  return [group, [group, ...items].join(',')]
}

/** The `select` of a table. Adds the parameters of its embeds. */
function selection(
  random: Random,
  vocabulary: Vocabulary,
  sources: Sources,
  prefix: string,
  depth: number,
  parameters: Parameters,
  related: string[],
): string {
  const items: string[] = random.chance(0.25)
    ? ['*']
    : random.some(prefix === '' || random.chance(0.9) ? 1 : 0, 3, () => {
        const [name] = field(random, column(random, vocabulary))
        const alias = random.chance(0.2) ? `${random.pick(['a', 'längd', 'the_alias'])}:` : ''
        const cast = random.chance(0.12)
          ? `::${random.chance(0.95) ? 'text' : random.pick(['json', 'varchar(3)', 'no_type'])}`
          : ''
        return alias + name + cast
      })
  const embeds = depth > 0 ? random.some(0, 2, () => random.below(vocabulary.embeds.length)) : []
  for (const index of new Set(embeds)) {
    const embed = vocabulary.embeds[index]
    if (!embed) continue
    const [words, name, table, toOne] = embed
    const target = vocabularyOf(table, sources)
    const join = random.chance(0.25) ? random.pick(['!inner', '!inner', '!left']) : ''
    const spread = toOne && prefix === '' && random.chance(0.12) && !words.includes(':')
    const path = `${prefix}${name}.`
    const inner = spread
      ? `spread_${name}:${target.columns[0][0]}`
      : selection(random, target, sources, path, depth - 1, parameters, [])
    items.push(`${spread ? '...' : ''}${words}${join}(${inner})`)
    if (toOne && prefix === '' && !spread) related.push(name)
    if (random.chance(0.25)) {
      const [column, kind] = field(random, random.pick(target.columns))
      parameters.push(`${path}${column}=${operation(random, kind, false)}`)
    }
    if (!toOne && random.chance(0.95)) parameters.push(`${path}order=${orderOf(random, target, [])}`)
    // PostgREST's order of columns depends on a hash map of the limits of embeds, so at most one is used.
    if (!toOne && random.chance(0.3) && !parameters.some(isRange)) {
      parameters.push(`${path}${random.pick(['limit', 'limit', 'offset'])}=${random.below(3)}`)
    }
    if (random.chance(0.1)) parameters.push(`${path}or=${logicTree(random, target, 1)}`)
    if (prefix === '' && !spread && random.chance(0.12)) {
      parameters.push(`${name}=${random.pick(['is.null', 'not.is.null'])}`)
    }
  }
  return items.join(',')
}

/** Introduces an error: drops, doubles or adds a character somewhere. */
function spoilt(random: Random, text: string): string {
  const at = random.below(text.length)
  const mark = random.pick(['.', ',', '(', ')', ':', '!', '"', '-', '>', '*', '::', '...', 'x', ' '])
  return random.chance(0.5) ? text.slice(0, at) + mark + text.slice(at) : text.slice(0, at) + text.slice(at + 1)
}

const accepts = [
  'application/json',
  'text/csv',
  'application/vnd.pgrst.object+json',
  'application/vnd.pgrst.array+json;nulls=stripped',
  'application/vnd.pgrst.object+json;nulls=stripped',
  '*/*',
  'text/csv;q=0.5, application/json;q=0.9',
  'image/png',
] as const

function headersOf(random: Random): SentRequest['headers'] {
  const preferences: string[] = []
  if (random.chance(0.3)) preferences.push(`count=${random.pick(['exact', 'exact', 'planned', 'estimated', 'none'])}`)
  if (random.chance(0.05))
    preferences.push(random.pick(['handling=strict', 'handling=lenient', 'return=minimal', 'what=ever']))
  return {
    ...(random.chance(0.25) ? { Accept: random.pick(accepts) } : {}),
    ...(random.chance(0.12) ? { Range: random.pick(['0-1', '1-', '2-3', '0-0', '50-60', '3-1', '-2', 'all']) } : {}),
    ...(preferences.length > 0 ? { Prefer: preferences.join(', ') } : {}),
    ...(random.chance(0.1) ? { 'If-None-Match': random.pick(unknownTags) } : {}),
  }
}

const unescaped = /[^A-Za-z0-9_.,:()!*"'>~&=-]/g

/** Returns one request. The same random numbers give the same request. */
export function generatedRead(random: Random, sources: Sources = vocabularies): SentRequest {
  const vocabulary = random.pick(sources)
  const parameters: Parameters = []
  const related: string[] = []
  const { call } = vocabulary
  if (call) parameters.push(call.argument)
  const [group, groups] = random.chance(0.08) ? aggregation(random, vocabulary) : [undefined, '']
  if (group !== undefined) parameters.push(`select=${groups}`)
  else if (random.chance(0.8)) {
    const selected = selection(random, vocabulary, sources, '', 2, parameters, related)
    // A function returns only the selected columns, so only these can be ordered by.
    parameters.push(`select=${call ? `*,${selected}` : selected}`)
  }
  for (const [name, kind] of random.some(0, 2, () => field(random, column(random, vocabulary)))) {
    parameters.push(`${name}=${operation(random, kind, false)}`)
  }
  if (random.chance(0.2)) {
    parameters.push(`${random.pick(['and', 'or', 'not.and', 'not.or'])}=${logicTree(random, vocabulary, 2)}`)
  }
  parameters.push(`order=${group ?? orderOf(random, vocabulary, related)}`)
  if (random.chance(0.15)) parameters.push(`limit=${random.pick(['0', '1', '2', '10'])}`)
  if (random.chance(0.1)) parameters.push(`offset=${random.pick(['0', '1', '3', '200'])}`)
  if (random.chance(0.08)) {
    const at = random.below(parameters.length)
    const parameter = parameters[at] ?? ''
    if (!isRange(parameter)) parameters[at] = spoilt(random, parameter)
  }
  const query = parameters.map((it) => it.replace(unescaped, encodeURIComponent).replaceAll('&', '%26')).join('&')
  return {
    method: random.chance(0.06) ? 'HEAD' : 'GET',
    path: `/${call?.path ?? vocabulary.name}?${query}`,
    headers: headersOf(random),
  }
}
