// A request in the words of its clients: curl, fetch, supabase-js.
import { filterOf, orderOf, type Parameter } from './filter.ts'

/** Where a relation is in the API. */
export type Place = {
  /** Mount path of the REST API: `/rest/v1` or `/`. */
  readonly restPath: string
  readonly schema: string
  readonly name: string
  /** Whether the schema is the one that requests without a profile get. */
  readonly isDefault: boolean
}

/** A request as people can copy it. `path` is relative to the server, without a leading slash. */
export type Sent = {
  readonly method: string
  readonly path: string
  readonly headers: readonly (readonly [name: string, value: string])[]
  readonly body?: string
}

const shellQuoted = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`

const js = (value: string): string =>
  `'${JSON.stringify(value).slice(1, -1).replaceAll('\\"', '"').replaceAll("'", "\\'")}'`

/** @param origin address of the server, with a slash at the end */
export const curlOf = (origin: string, { method, path, headers, body }: Sent): string =>
  [
    `curl ${method === 'GET' ? '' : `-X ${method} `}${shellQuoted(`${origin}${path}`)}`,
    `-H "apikey: $KEY"`,
    ...headers.map(([name, value]) => `-H ${shellQuoted(`${name}: ${value}`)}`),
    ...(body === undefined ? [] : [`-H 'Content-Type: application/json'`, `-d ${shellQuoted(body)}`]),
  ].join(' \\\n  ')

const table = ({ schema, name, isDefault }: Place): string =>
  `supabase${isDefault ? '' : `.schema(${js(schema)})`}.from(${js(name)})`

const simple = new Set(['eq', 'neq', 'gt', 'gte', 'lt', 'lte', 'like', 'ilike'])

function filterCall(parameter: Parameter): string {
  const [name, value] = parameter
  const filter = filterOf(parameter)
  if (!filter) return name === 'or' ? `.or(${js(value.replace(/^\(|\)$/g, ''))})` : `.filter(${js(name)}, ${js(value)})`
  const { column, isNegated, operator, value: operand } = filter
  const argument = operator === 'is' && /^(?:null|true|false)$/.test(operand) ? operand : js(operand)
  if (isNegated) return `.not(${js(column)}, ${js(operator)}, ${argument})`
  if (simple.has(operator) || (operator === 'is' && argument === operand))
    return `.${operator}(${js(column)}, ${argument})`
  return `.filter(${js(column)}, ${js(operator)}, ${argument})`
}

function modifierCall([name, value]: Parameter): string | undefined {
  if (name === 'limit') return `.limit(${/^\d+$/.test(value) ? value : js(value)})`
  if (name === 'order') {
    return value
      .split(/,(?=(?:[^"]*"[^"]*")*[^"]*$)/)
      .map((text) => {
        const order = orderOf(text)
        return order ? `.order(${js(order.column)}, { ascending: ${!order.isDescending} })` : ''
      })
      .join('')
  }
  return name === 'offset' ? undefined : filterCall([name, value])
}

const calls = (parameters: readonly Parameter[]): string =>
  parameters
    .filter(([name]) => name !== 'select')
    .map(modifierCall)
    .filter((call) => call !== undefined)
    .map((call) => `\n  ${call}`)
    .join('')

/** A read with supabase-js. */
export function supabaseRead(place: Place, parameters: readonly Parameter[]): string {
  const select = parameters.find(([name]) => name === 'select')?.[1] ?? '*'
  return `const { data, error } = await ${table(place)}\n  .select(${select === '*' ? '' : js(select)})${calls(parameters)}`
}

/** A write with supabase-js. @param body JSON, which is JavaScript, too */
export function supabaseWrite(
  place: Place,
  method: 'POST' | 'PATCH' | 'DELETE',
  parameters: readonly Parameter[],
  body?: string,
): string {
  const call = { POST: `.insert(${body})`, PATCH: `.update(${body})`, DELETE: '.delete()' }[method]
  return `const { data, error } = await ${table(place)}\n  ${call}${calls(parameters)}\n  .select()`
}

/** A call of a function with supabase-js. */
export const supabaseCall = ({ schema, name, isDefault }: Place, body: string): string =>
  `const { data, error } = await supabase${isDefault ? '' : `.schema(${js(schema)})`}\n  .rpc(${js(name)}${body === '{}' ? '' : `, ${body}`})`

/** A request with `fetch`. */
export function fetchOf(origin: string, { method, path, headers, body }: Sent): string {
  const all = [...headers, ...(body === undefined ? [] : [['Content-Type', 'application/json'] as const])]
  const lines = [
    ...(method === 'GET' ? [] : [`  method: '${method}',`]),
    `  headers: { apikey: key${all.map(([name, value]) => `, ${js(name)}: ${js(value)}`).join('')} },`,
    ...(body === undefined ? [] : [`  body: JSON.stringify(${body}),`]),
  ]
  return `const response = await fetch(${js(`${origin}${path}`)}, {\n${lines.join('\n')}\n})\nconst data = await response.json()`
}
