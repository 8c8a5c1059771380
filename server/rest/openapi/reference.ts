// References within the document. https://www.rfc-editor.org/rfc/rfc6901#section-6
import type { OrderedJson } from './ordered-json.ts'

/** Characters with a special meaning in a JSON pointer or in the fragment of a URI. */
const special = /[~/%#]/g
const escapes: Readonly<Record<string, string>> = { '~': '~0', '/': '~1', '%': '%25', '#': '%23' }

/**
 * A reference to a member of the document, with special characters escaped. PostgREST does not escape them, so that
 * tools cannot read its document.
 */
export const reference = (section: 'definitions' | 'parameters', name: string): OrderedJson => ({
  $ref: `#/${section}/${name.replaceAll(special, (character) => escapes[character] ?? character)}`,
})

/** The name of a parameter without special characters, because some tools do not decode escapes in these names. */
export const parameterName = (...parts: readonly string[]): string =>
  parts.join('.').replaceAll(special, (character) => `_${character.charCodeAt(0).toString(16)}_`)
