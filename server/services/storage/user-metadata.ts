// The header `x-metadata`: metadata of an object that its owner chooses, a JSON object in base64.

type UserMetadata = Readonly<Record<string, unknown>>

/** The metadata of a header; undefined if it is missing, or no JSON object in base64, which clients do not expect to fail. */
export function userMetadataOf(header: string | readonly string[] | undefined): UserMetadata | undefined {
  if (typeof header !== 'string') return undefined
  try {
    const value: unknown = JSON.parse(Buffer.from(header, 'base64').toString('utf8'))
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as UserMetadata) : undefined
  } catch {
    return undefined
  }
}
