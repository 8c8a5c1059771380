// Leaves out the components that no path of a document refers to: those of services that are off, of tables that the caller
// may not see, and of methods that a view does not have.
import type { JsonObject } from '../../http/json-schema.ts'

type Components = Readonly<Record<string, Readonly<Record<string, unknown>>>>

/**
 * The components that the paths refer to, directly or by other components, in the order given.
 *
 * @param components by kind (`schemas`, `parameters` …) and name
 */
export function usedComponents(paths: JsonObject, components: Components): JsonObject {
  const used = new Set<string>()
  const waiting: unknown[] = [paths]
  while (waiting.length > 0) {
    const value = waiting.pop()
    if (typeof value !== 'object' || value === null) continue
    for (const [key, member] of Object.entries(value)) {
      const reference = key === '$ref' ? String(member) : ''
      const [, kind = '', name = ''] = /^#\/components\/([^/]+)\/([^/]+)/.exec(reference) ?? []
      const id = `${kind}/${name}`
      if (kind === '') waiting.push(member)
      else if (!used.has(id)) {
        used.add(id)
        waiting.push(components[kind]?.[name])
      }
    }
  }
  return Object.fromEntries(
    Object.entries(components).map(([kind, members]) => [
      kind,
      Object.fromEntries(Object.entries(members).filter(([name]) => used.has(`${kind}/${name}`))),
    ]),
  )
}
