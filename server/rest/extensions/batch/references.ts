// References of a batch to the results of its earlier requests: `{"$ref": "<id>#<JSON Pointer>"}` in bodies, and
// `${<id>#<JSON Pointer>}` in urls (url-template.ts).
import { batchErrors } from './batch-errors.ts'
import { isPointer, JsonDocument } from '../../../text/json-document.ts'
import { JsonTokens } from '../../../text/json-tokens.ts'

/** A reference to a value in the body of an earlier response. */
export type Reference = {
  /** The id of the request. */
  readonly id: string
  /** JSON Pointer into the body of its response; empty for the whole body. */
  readonly pointer: string
}

/** Ids of requests. They have no character that ends a reference in a url. */
export const idPattern = /^[\w.:~@-]{1,100}$/

/** The JSON text that a reference stands for. */
export type Lookup = (reference: Reference) => string

/** A JSON text with references between its slices. */
export type BodyTemplate = readonly (string | Reference)[]

export const referenceText = ({ id, pointer }: Reference): string => `${id}#${pointer}`

/** Only one object with a single member can be a reference, and its name is short. */
const longestName = 100
const referenceName = /^\$+ref$/

/**
 * Splits a valid JSON text at its references: objects whose only member is `$ref`, with a text of the form
 * `<id>#<JSON Pointer>`. An object whose only member is `$$ref` stands for the same with one dollar sign less.
 */
export function bodyTemplate(text: string): BodyTemplate {
  const pieces: (string | Reference)[] = []
  let from = 0
  let tokens = new JsonTokens(text)
  for (let kind = tokens.next(); kind; kind = tokens.next()) {
    if (kind !== '{') continue
    const found = onlyMember(text, tokens.end)
    if (!found) continue
    const { name, value, end } = found
    const piece = name === '$ref' ? asReference(value) : `{${JSON.stringify(name.slice(1))}:${JSON.stringify(value)}}`
    if (piece === undefined) continue
    pieces.push(text.slice(from, tokens.start), piece)
    from = end
    tokens = new JsonTokens(text, end)
  }
  pieces.push(text.slice(from))
  return pieces
}

type OnlyMember = { readonly name: string; readonly value: string; readonly end: number }

/**
 * The member of an object that has only this one, if it may be a reference.
 *
 * @param inside the position after the opening brace
 */
function onlyMember(text: string, inside: number): OnlyMember | undefined {
  const tokens = new JsonTokens(text, inside)
  if (tokens.next() !== 'string' || tokens.end - tokens.start > longestName) return undefined
  const name = tokens.value
  if (!referenceName.test(name) || tokens.next() !== 'string') return undefined
  const { value } = tokens
  if (tokens.next() !== '}') return undefined
  return { name, value, end: tokens.end }
}

function asReference(value: string): Reference | undefined {
  const hash = value.indexOf('#')
  const reference = { id: value.slice(0, hash), pointer: value.slice(hash + 1) }
  return hash > 0 && idPattern.test(reference.id) && isPointer(reference.pointer) ? reference : undefined
}

export const isReference = (piece: string | Reference): piece is Reference => typeof piece !== 'string'

/** The text with values in place of its references. */
export const fillBody = (template: BodyTemplate, lookup: Lookup): string =>
  template.map((piece) => (isReference(piece) ? lookup(piece) : piece)).join('')

/** The results of the requests of a batch, as references to them find them. */
export class BatchResults {
  /** JSON bodies by request; undefined for a response without one. */
  readonly #bodies = new Map<string, JsonDocument | undefined>()
  readonly #limit: number
  #size: number

  /**
   * @param size bytes of the batch
   * @param limit maximum number of bytes of the batch with the values of its references
   */
  constructor(size: number, limit: number) {
    this.#size = size
    this.#limit = limit
  }

  /** @param json the body of the response, undefined if it has no JSON body */
  add(id: string, json: string | undefined): void {
    this.#bodies.set(id, json === undefined ? undefined : new JsonDocument(json))
  }

  has(id: string): boolean {
    return this.#bodies.has(id)
  }

  /**
   * The value that a reference stands for.
   *
   * @throws ApiError PGRSTX12 if there is no value, PGRSTX11 if the batch becomes too large
   */
  readonly lookup: Lookup = (reference) => {
    const { id, pointer } = reference
    const body = this.#bodies.get(id)
    if (body === undefined) {
      const details = `The response to the request ${id} has no JSON body. Prefer: return=representation asks for one.`
      throw batchErrors.reference(referenceText(reference), details)
    }
    const value = body.at(pointer)
    if (value === undefined) {
      const details = `The response to the request ${id} has nothing at ${pointer}.`
      throw batchErrors.reference(referenceText(reference), details)
    }
    this.#size += Buffer.byteLength(value)
    if (this.#size > this.#limit) throw batchErrors.valuesTooLarge(this.#limit)
    return value
  }
}
