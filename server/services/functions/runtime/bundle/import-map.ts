// Import maps, as in the file of that name or in `deno.json`.
// https://html.spec.whatwg.org/multipage/webappapis.html#import-maps, https://docs.deno.com/runtime/fundamentals/configuration/
import { readFile } from 'node:fs/promises'
import { dirname, resolve, sep } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'

type Mapping = Readonly<Record<string, string>>

/** What a file says about imports and JSX. */
export type ImportMap = {
  /** Replaces what a file imports by what the map says; the same text if it says nothing. */
  readonly resolve: (specifier: string, importer: string) => string
  /** Options of the compiler for JSX, as in `tsconfig.json`. */
  readonly compilerOptions: Readonly<Record<string, unknown>>
}

export const emptyImportMap: ImportMap = { resolve: (specifier) => specifier, compilerOptions: {} }

// A text in quotes, or a comment or the comma before a closing bracket.
const notJson = /("(?:\\.|[^"\\])*")|\/\/[^\n]*|\/\*[^*]*\*+(?:[^/*][^*]*\*+)*\/|,(?=\s*[}\]])/g

/** JSON without the comments and commas that `deno.json` may have. */
const plainJson = (text: string): string => text.replace(notJson, (_, quoted: string | undefined) => quoted ?? '')

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** An address of the map: a path is relative to the folder of the map. */
const addressIn = (folder: string, address: string): string => {
  if (address.startsWith('file:')) return fileURLToPath(address)
  if (!/^\.{0,2}\//.test(address)) return address
  return resolve(folder, address) + (address.endsWith('/') ? sep : '')
}

/** `npm:` and `jsr:` packages of `deno.json` have their subpaths, too: `"hono": "npm:hono@4"` is also `hono/cors`. */
const withSubpaths = ([key, address]: [string, string]): [string, string][] =>
  /^(?:npm|jsr):/.test(address) && !key.endsWith('/')
    ? [
        [key, address],
        [`${key}/`, `${address.replace(/^(npm|jsr):\/?/, '$1:')}/`],
      ]
    : [[key, address]]

function mappingOf(value: unknown, name: string, folder: string): Mapping {
  if (value === undefined) return {}
  if (!isRecord(value)) throw new Error(`"${name}" must be an object`)
  const entries = Object.entries(value).map(([key, address]): [string, string] => {
    if (typeof address !== 'string') throw new Error(`"${name}": the address of "${key}" must be a string`)
    return [key, addressIn(folder, address)]
  })
  // Own entries precede derived ones of the same name.
  return { ...Object.fromEntries(entries.flatMap(withSubpaths)), ...Object.fromEntries(entries) }
}

/** The longest key that is the specifier, or a prefix of it that ends with a slash. */
function mapped(specifier: string, mapping: Mapping): string | undefined {
  if (Object.hasOwn(mapping, specifier)) return mapping[specifier]
  const prefix = Object.keys(mapping)
    .filter((key) => key.endsWith('/') && specifier.startsWith(key))
    .reduce((longest, key) => (key.length > longest.length ? key : longest), '')
  return prefix === '' ? undefined : `${mapping[prefix]}${specifier.slice(prefix.length)}`
}

/**
 * Reads an import map.
 *
 * @param path of `deno.json`, `deno.jsonc` or a file with `imports` and `scopes`
 * @throws if the file cannot be read or is not valid
 */
export async function readImportMap(path: string): Promise<ImportMap> {
  const content: unknown = JSON.parse(plainJson(await readFile(path, 'utf8')))
  if (!isRecord(content)) throw new Error('must be an object')
  const folder = dirname(path)
  const imports = mappingOf(content.imports, 'imports', folder)
  const scopes = Object.entries(isRecord(content.scopes) ? content.scopes : {})
    .map(([scope, value]) => ({
      prefix: pathToFileURL(addressIn(folder, scope)).href,
      mapping: mappingOf(value, scope, folder),
    }))
    .sort((one, other) => other.prefix.length - one.prefix.length)
  return {
    resolve: (specifier, importer) => {
      const url = pathToFileURL(importer).href
      const ofScope = scopes
        .filter(({ prefix }) => url === prefix || (prefix.endsWith('/') && url.startsWith(prefix)))
        .map(({ mapping }) => mapped(specifier, mapping))
      return [...ofScope, mapped(specifier, imports)].find((address) => address !== undefined) ?? specifier
    },
    compilerOptions: isRecord(content.compilerOptions) ? content.compilerOptions : {},
  }
}
