// The token of an `Authorization` header.

const scheme = /^bearer(?:[ \t\n\v\f\r]+|$)/i

/**
 * The credential of the scheme `Bearer`, which is case-insensitive. Undefined without such a header, empty when nothing
 * follows the scheme. https://www.rfc-editor.org/rfc/rfc6750#section-2.1
 */
export function bearerToken(authorization: string | undefined): string | undefined {
  const start = authorization === undefined ? null : scheme.exec(authorization)
  return start ? start.input.slice(start[0].length) : undefined
}
