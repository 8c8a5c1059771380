// Keys of request shapes. A key is a sequence of parts, each with its kind and length, so that keys are equal only if
// all their parts are equal.

/**
 * The kinds of parts. `text` is a raw part of the query string. A filter without its value consists of `name` and
 * `operator`. `body` has no text; it says that the request has a body. `cursor` is the direction of
 * a page, and which values of its cursor are null.
 */
export const partKind = {
  method: 'm',
  path: 'p',
  text: 't',
  name: 'n',
  operator: 'o',
  header: 'h',
  headerValue: 'v',
  body: 'b',
  cursor: 'c',
} as const

export type PartKind = (typeof partKind)[keyof typeof partKind]

/** Encodes a part of a key: its kind, its length in decimal digits, a colon, its text. A key is its parts joined. */
export const keyPart = (kind: PartKind, text: string): string => `${kind}${text.length}:${text}`
