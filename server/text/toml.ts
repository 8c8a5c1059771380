// Reads TOML, with messages for the owner of the file. https://toml.io/en/v1.0.0

export type TomlSection = Readonly<Record<string, unknown>>

/** What is wrong with which file, and where. */
type Fail = (message: string, cause?: unknown) => Error

/**
 * Parses the text of a file, which may begin with a byte order mark.
 *
 * @throws the result of `fail`
 */
export async function parseToml(path: string, text: string, fail: Fail): Promise<TomlSection> {
  // Most starts have nothing to parse.
  const { parse, TomlError } = await import('smol-toml')
  try {
    return parse(text.replace(/^\ufeff/, ''))
  } catch (error) {
    if (!(error instanceof TomlError)) throw error
    const [reason = ''] = error.message.replace(/^Invalid TOML document: /, '').split('\n')
    throw fail(`${path}:${error.line}:${error.column}: ${reason}`, error)
  }
}

/**
 * A section of a file; empty if it is missing.
 *
 * @param names of the section and the sections around it
 * @throws the result of `fail` when one of them is something else
 */
export function tomlSection(path: string, document: TomlSection, names: readonly string[], fail: Fail): TomlSection {
  let section = document
  for (const [index, name] of names.entries()) {
    const inner = section[name] ?? {}
    if (typeof inner !== 'object' || Array.isArray(inner)) {
      const shown = names.slice(0, index + 1).join('.')
      throw fail(`${path}: ${shown} is a section: [${shown}].`)
    }
    section = inner as TomlSection
  }
  return section
}
