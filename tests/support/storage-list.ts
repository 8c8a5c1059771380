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

/** The folder that is listed: of one that does not exist, each part is the first that differs only in case. */
function folderListed(names: readonly string[], folder: string): string | undefined {
  const exists = (path: string): boolean => names.some((name) => name.startsWith(path))
  if (exists(folder)) return folder
  let resolved = ''
  for (const segment of folder.split('/').slice(0, -1)) {
    const wanted = `${resolved}${segment}/`
    const found = exists(wanted)
      ? wanted
      : names
          .flatMap((name) => (name.startsWith(resolved) ? [folderOf(name, resolved) ?? ''] : []))
          .filter(
            (other) => other !== '' && folded(other.slice(resolved.length)) === folded(wanted.slice(resolved.length)),
          )
          .sort(byBytes)[0]
    if (found === undefined) return undefined
    resolved = found
  }
  return resolved
}

/** The names of objects, and folders with their slash, in the order of a list by name. */
export function listed(
  names: readonly string[],
  { prefix, isDescending = false, ignoresCase = false }: ListOptions,
): string[] {
  const key = ignoresCase ? folded : (text: string): string => text
  const end = prefix.lastIndexOf('/') + 1
  const folder = ignoresCase ? folderListed(names, prefix.slice(0, end)) : prefix.slice(0, end)
  if (folder === undefined) return []
  const entries = names
    .filter((name) => name.startsWith(folder) && key(name.slice(end)).startsWith(key(prefix.slice(end))))
    .map((name) => folderOf(name, prefix) ?? name)
  const found = [...new Set(entries)].sort((one, other) => byBytes(key(one), key(other)) || byBytes(one, other))
  return isDescending ? found.reverse() : found
}
