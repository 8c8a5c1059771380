// E-mail addresses and phone numbers of requests.
import { asciiLowerCase } from '../../text/ascii-case.ts'
import { authErrors } from './auth-error.ts'

/** https://html.spec.whatwg.org/multipage/input.html#valid-e-mail-address */
const email =
  /^[a-zA-Z0-9.!#$%&'*+/=?^_`{|}~-]+@[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?(?:\.[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?)*$/

/**
 * An e-mail address in lower case.
 *
 * @throws AuthError 400 `validation_failed`
 */
export function readEmail(text: string): string {
  if (text === '') throw authErrors.invalid('An email address is required')
  if (text.length > 255) throw authErrors.invalid('An email address is too long')
  if (!email.test(text)) throw authErrors.invalid('Unable to validate email address: invalid format')
  return asciiLowerCase(text)
}

/** A phone number without plus sign and spaces. */
export const normalisedPhone = (text: string): string => text.replace(/^\+/, '').replaceAll(' ', '')

/**
 * A phone number of E.164, without plus sign and spaces.
 *
 * @throws AuthError 400 `validation_failed`
 */
export function readPhone(text: string): string {
  const phone = normalisedPhone(text)
  if (!/^[1-9]\d{1,14}$/.test(phone)) throw authErrors.invalid('Invalid phone number format (E.164 required)')
  return phone
}

/**
 * The channel of messages to phones.
 *
 * @throws AuthError 400 `validation_failed`
 */
export function readChannel(text: string): 'sms' | 'whatsapp' {
  if (text === '' || text === 'sms') return 'sms'
  if (text === 'whatsapp') return 'whatsapp'
  throw authErrors.invalid("Invalid channel, supported values are 'sms' or 'whatsapp'.")
}
