// Headers as people type them, one per line.

/** @throws Error for a line that is not a header */
export const headersOf = (text: string): readonly (readonly [name: string, value: string])[] =>
  text
    .split('\n')
    .filter((line) => line.trim() !== '')
    .map(headerOf)

function headerOf(line: string): readonly [string, string] {
  const [, name = '', value = ''] = /^([^:\s]+):\s*(.*)$/.exec(line.trim()) ?? []
  if (name === '') throw new Error(`${JSON.stringify(line)} is not a header: it has a name, a colon and a value`)
  return [name, value]
}
