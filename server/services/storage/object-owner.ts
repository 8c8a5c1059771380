// Owners of objects and buckets: `owner_id` is the subject of a token, `owner` the same if it is a UUID.
import { isUuid } from '../../text/uuid.ts'

/** The value of the deprecated column `owner`. */
export const uuidOrNull = (owner: string | null): string | null => (owner !== null && isUuid(owner) ? owner : null)
