// Request bodies.

export type Payload =
  /** JSON text as it came (numbers keep their digits), or made from CSV or a form; `keys` are those of every object in it. */
  | { readonly kind: 'json'; readonly text: string; readonly keys: readonly string[] }
  /** JSON text whose keys are named by the `columns` parameter, so that it is left unread. */
  | { readonly kind: 'raw-json'; readonly text: string }
  /** Arguments of a function as a form. */
  | { readonly kind: 'form'; readonly pairs: readonly (readonly [string, string])[]; readonly keys: readonly string[] }
  /** The single unnamed argument of a function. */
  | { readonly kind: 'raw'; readonly bytes: Buffer }
