// References inside the document. https://www.rfc-editor.org/rfc/rfc6901#section-6
import { object, type OrderedJson } from './ordered-json.ts'

/** Characters that have a meaning in a JSON pointer or in the fragment of a URI. */
const special = /[~/%#]/g
const escapes: Readonly<Record<string, string>> = { '~': '~0', '/': '~1', '%': '%25', '#': '%23' }

/**
 * A reference to a member of the document, with escapes where the name needs them. PostgREST has none, and tools fail on
 * its document for such names.
 */
export const reference = (section: 'definitions' | 'parameters', name: string): OrderedJson =>
  object(['$ref', `#/${section}/${name.replaceAll(special, (character) => escapes[character] ?? character)}`])

/** A name of a parameter in which nothing needs to be escaped: some tools do not undo escapes there. */
export const parameterName = (...parts: readonly string[]): string =>
  parts.join('.').replaceAll(special, (character) => `_${character.charCodeAt(0).toString(16)}_`)
