// E-mail addresses and phone numbers in requests.
import { authErrors } from '../auth-error.ts'

/** What browsers accept in `<input type="email">`: https://html.spec.whatwg.org/#valid-e-mail-address */
const format =
  /^[a-z0-9.!#$%&'*+/=?^_`{|}~-]+@[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?)*$/i

const maxLength = 255

/**
 * The address in lower case, as it is stored.
 *
 * @throws AuthError 400 `validation_failed`
 */
export function emailAddress(text: string): string {
  if (text === '') throw authErrors.invalid('An email address is required')
  if (Buffer.byteLength(text) > maxLength) throw authErrors.invalid('An email address is too long')
  if (!format.test(text)) throw authErrors.invalid('Unable to validate email address: invalid format')
  return text.toLowerCase()
}

/**
 * The digits of a phone number, as they are stored: without the plus sign and spaces.
 *
 * @throws AuthError 400 `validation_failed`
 */
export function phoneNumber(text: string): string {
  const digits = text.replace(/^\+/, '').replaceAll(' ', '')
  if (!/^[1-9]\d{1,14}$/.test(digits)) throw authErrors.invalid('Invalid phone number format (E.164 required)')
  return digits
}
