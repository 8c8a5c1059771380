// Path parameters that are ids.
import type { PathParameter } from '../../http/path-id.ts'
import { isUuid } from '../../text/uuid.ts'
import { AuthError } from './auth-error.ts'

/** A path parameter whose faults are GoTrue's. */
const idParameter = (name: string, description: string): PathParameter<string> => ({
  description,
  schema: { type: 'string', format: 'uuid' },
  read: (text) => {
    if (!isUuid(text)) throw new AuthError(404, 'validation_failed', `${name} must be an UUID`)
    return text.toLowerCase()
  },
})

export const factorId = idParameter('factor_id', 'Id of the factor.')
export const passkeyId = idParameter('passkey_id', 'Id of the passkey.')
/** The id of an OAuth client, whose faults have another status in GoTrue. */
export const clientId: PathParameter<string> = {
  description: 'Id of the client.',
  schema: { type: 'string', format: 'uuid' },
  read: (text) => {
    if (!isUuid(text)) throw new AuthError(400, 'validation_failed', 'invalid client_id format')
    return text.toLowerCase()
  },
}
export const userId = idParameter('user_id', 'Id of the account.')
