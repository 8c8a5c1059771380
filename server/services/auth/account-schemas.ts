// The bodies of responses with a session or a user, as the document of the API describes them.
import type { JsonSchema } from '../../http/json-schema.ts'

const text = { type: 'string' }
const time = { type: 'string', format: 'date-time' }
const anyObject = { type: 'object', additionalProperties: true }

/** A user. Times are absent until they have come. */
export const userSchema: JsonSchema = {
  type: 'object',
  properties: {
    id: { type: 'string', format: 'uuid' },
    aud: text,
    role: text,
    email: text,
    phone: text,
    email_confirmed_at: time,
    phone_confirmed_at: time,
    confirmed_at: time,
    last_sign_in_at: time,
    app_metadata: anyObject,
    user_metadata: anyObject,
    identities: { type: 'array', items: anyObject },
    is_anonymous: { type: 'boolean' },
    created_at: time,
    updated_at: time,
  },
  required: ['id', 'aud', 'email', 'phone', 'app_metadata', 'user_metadata', 'created_at', 'updated_at'],
}

/** A session with its tokens. */
export const sessionSchema: JsonSchema = {
  type: 'object',
  properties: {
    access_token: { type: 'string', description: 'A JSON Web Token, for `Authorization: Bearer`.' },
    token_type: text,
    expires_in: { type: 'integer', description: 'Seconds that the access token is valid.' },
    expires_at: { type: 'integer', description: 'When it expires, in seconds since 1970.' },
    refresh_token: { type: 'string', description: 'Gets the next access token, once.' },
    user: userSchema,
  },
  required: ['access_token', 'token_type', 'expires_in', 'expires_at', 'refresh_token', 'user'],
}
