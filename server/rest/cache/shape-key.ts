// Keys of request shapes. A key is a sequence of parts, each with its kind and its length, so that no part can pass for
// another one or for several: equal keys have equal parts.

/**
 * What a part says. `text` is a part of the query string as it came; a filter whose value is left out consists of its
 * name and its operator. `body` is there, without a text, when there is a body.
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
} as const

export type PartKind = (typeof partKind)[keyof typeof partKind]

/** A part of a key: its kind, its length in decimal digits, a colon, its text. Keys are made by joining parts. */
export const keyPart = (kind: PartKind, text: string): string => `${kind}${text.length}:${text}`
