// What the lists of `/storage/v1` must contain, computed from the names of all objects of a bucket.

/** Compares texts by their bytes in UTF-8, as the collation "C" does. */
export const byBytes = (one: string, other: string): number => Buffer.compare(Buffer.from(one), Buffer.from(other))

/** Lower case of ASCII. */
const folded = (text: string): string => text.replace(/[A-Z]/g, (letter) => letter.toLowerCase())

/** The folder of a name in a list with a prefix, with its slash. */
function folderOf(name: string, prefix: string): string | undefined {
  const end = Array.from(name).indexOf('/', Array.from(prefix).length)
  return end < 0
    ? undefined
    : Array.from(name)
        .slice(0, end + 1)
        .join('')
}

export type ListOptions = { readonly prefix: string; readonly isDescending?: boolean; readonly ignoresCase?: boolean }

/** The names of objects, and folders with their slash, in the order of a list by name. */
export function listed(
  names: readonly string[],
  { prefix, isDescending = false, ignoresCase = false }: ListOptions,
): string[] {
  const key = ignoresCase ? folded : (text: string): string => text
  const found = names
    .filter((name) => key(name).startsWith(key(prefix)))
    .sort((one, other) => byBytes(key(one), key(other)) || byBytes(one, other))
  if (isDescending) found.reverse()
  const seen = new Set<string>()
  return found.flatMap((name) => {
    const folder = folderOf(name, prefix)
    if (folder === undefined) return [name]
    if (seen.has(key(folder))) return []
    seen.add(key(folder))
    return [folder]
  })
}
