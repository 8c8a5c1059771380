// Owners of objects and buckets: `owner_id` is the subject of a token, `owner` the same if it is a UUID.

const uuid = /^[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}$/i

/** The value of the deprecated column `owner`. */
export const uuidOrNull = (owner: string | null): string | null => (owner !== null && uuid.test(owner) ? owner : null)
