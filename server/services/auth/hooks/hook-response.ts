// Responses of hooks: JSON, which may be an error for the client.
import { isJsonObject, type JsonObject } from '../../../text/json-object.ts'
import { AuthError } from '../auth-error.ts'

/** What a hook returned. */
export type HookResponse = {
  readonly value: JsonObject
  /** The same as JSON text, which keeps all digits of numbers. */
  readonly text: string
}

const empty: HookResponse = { value: {}, text: '{}' }

/**
 * The response of a hook, parsed. A response without content is an empty object.
 *
 * @param text JSON, or nothing
 * @throws AuthError with the status and the message of `{error: {http_code, message}}`; 500 if it is not a JSON object
 */
export function readHookResponse(text: string): HookResponse {
  if (text === '') return empty
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch (cause) {
    throw new AuthError(500, 'unexpected_failure', 'Error unmarshaling JSON output.', { cause })
  }
  if (value === null) return empty
  if (!isJsonObject(value)) throw new AuthError(500, 'unexpected_failure', 'Error unmarshaling JSON output.')
  const { error } = value
  // An error without a message is none, as in GoTrue.
  if (isJsonObject(error) && typeof error.message === 'string' && error.message !== '') {
    throw new AuthError(errorStatus(error.http_code), null, error.message)
  }
  return { value, text }
}

/** The status that a hook chooses; 500 if it is not the status of an error. */
const errorStatus = (code: unknown): number =>
  typeof code === 'number' && Number.isInteger(code) && code >= 400 && code <= 599 ? code : 500
