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
export const userId = idParameter('user_id', 'Id of the account.')
