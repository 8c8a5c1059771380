// Refresh tokens: 12 letters and digits, as GoTrue's.
import { randomInt } from 'node:crypto'

const alphabet = '0123456789abcdefghijklmnopqrstuvwxyz'
const length = 12

/** A random refresh token, of 62 bits. */
export function newRefreshToken(): string {
  let token = ''
  for (let place = 0; place < length; place++) token += alphabet[randomInt(alphabet.length)] ?? ''
  return token
}

/** Whether a text has the form of a refresh token. */
export const isRefreshToken = (text: string): boolean => /^[a-z0-9]{12}$/.test(text)
