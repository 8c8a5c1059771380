// Converts PostgREST 12.0.2's OpenAPI document of the shop to that of version 16.2, according to PostgREST's changelog.

type Json = Record<string, unknown>

const isObject = (value: unknown): value is Json => typeof value === 'object' && value !== null && !Array.isArray(value)

/** 14.8, #4641: integers have the formats defined by OpenAPI. */
const integerFormats: Readonly<Record<string, string>> = { smallint: 'int32', integer: 'int32', bigint: 'int64' }

/** Functions of the fixture that allow POST only. */
const volatile = ['answer', 'fail', 'nothing', 'raised', 'check_request']

function withIntegerFormats(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withIntegerFormats)
  if (!isObject(value)) return value
  return Object.fromEntries(
    Object.entries(value).map(([key, member]) =>
      key === 'format' && typeof member === 'string'
        ? [key, integerFormats[member] ?? member]
        : [key, withIntegerFormats(member)],
    ),
  )
}

const without = (value: unknown, key: string): unknown =>
  isObject(value) ? Object.fromEntries(Object.entries(value).filter(([name]) => name !== key)) : value

const mapEntries = (value: unknown, change: (key: string, member: unknown) => unknown): Json =>
  Object.fromEntries(Object.entries(isObject(value) ? value : {}).map(([key, member]) => [key, change(key, member)]))

export function modernDocument(document: unknown): unknown {
  if (!isObject(document)) return document
  return {
    ...document,
    info: { ...(document.info as Json), version: '16.2' },
    definitions: withIntegerFormats(document.definitions),
    // 13.0.5, #4080: the link is valid again.
    externalDocs: { ...(document.externalDocs as Json), url: 'https://postgrest.org/en/v16/references/api.html' },
    parameters: mapEntries(document.parameters, (key, parameter) => {
      // 13.0.6, #4292: no empty list; its only item was removed by 13.0.0, #3757.
      if (key === 'preferParams') return without(parameter, 'enum')
      // 12.2.3, #3504: parameters for filters do not have the column's format.
      return key.startsWith('rowFilter.') ? without(parameter, 'format') : withIntegerFormats(parameter)
    }),
    paths: mapEntries(document.paths, (path, item) =>
      // 13.0.5, #4174: functions that may write have no GET.
      withIntegerFormats(volatile.some((name) => path === `/rpc/${name}`) ? without(item, 'get') : item),
    ),
  }
}

/** Parameters that PostgREST does not have. */
const extensions = new Set(['contentType', 'cursor', 'distinct', 'having', 'idempotencyKey', 'ifMatch', 'ifNoneMatch'])

const select = (value: unknown, keeps: (key: string) => boolean): Json =>
  Object.fromEntries(Object.entries(isObject(value) ? value : {}).filter(([key]) => keeps(key)))

/** This server's document without what PostgREST does not have. */
export function withoutExtensions(document: unknown): unknown {
  if (!isObject(document)) return document
  const { parameters, paths, produces } = document
  return {
    ...document,
    produces: (produces as string[]).filter((type) => type !== 'application/x-ndjson'),
    parameters: select(parameters, (name) => !extensions.has(name)),
    paths: mapEntries(paths, (_, item) => select(item, (name) => name !== 'parameters' && name !== 'x-related-rows')),
  }
}
