// Request targets as people may see them: without secrets.
import { scrub } from './log-line.ts'

/** Names of parameters whose values are secrets, or may be. */
const secretName =
  /^(?:code|otp|nonce)$|pass(?:word|wd|code|phrase)|pwd|secret|token|api[_-]?key|authorization|credential|signature|jwt/i

const longestTarget = 2000

/** A target with `***` in place of keys, tokens, passwords, and values of parameters that may be such. */
export function shownTarget(target: string): string {
  const [path = '', query] = target.split(/\?(.*)/s, 2)
  const shown = query === undefined ? path : `${path}?${query.split('&').map(shownParameter).join('&')}`
  const scrubbed = scrub(shown)
  return scrubbed.length > longestTarget ? `${scrubbed.slice(0, longestTarget)}…` : scrubbed
}

function shownParameter(parameter: string): string {
  const equals = parameter.indexOf('=')
  if (equals === -1) return parameter
  const name = decoded(parameter.slice(0, equals))
  const value = decoded(parameter.slice(equals + 1))
  if (secretName.test(name)) return `${parameter.slice(0, equals)}=***`
  // Encoding would hide them from `scrub`. Conditions of `or` name columns in their values.
  return scrub(value) === value && !hasSecretCondition(value) ? parameter : `${parameter.slice(0, equals)}=***`
}

/** A condition of `or` or `and`: the name of its column, and the beginning of its operator. */
const condition =
  /([\w"]+)\.(?:not\.)?(?:eq|neq|in|i?like|i?match|is(?:distinct)?|[gl]te?|\w*fts|c[sd]|ov|s[lr]|nx[rl]|adj)\b/g

const hasSecretCondition = (value: string): boolean =>
  Array.from(value.matchAll(condition)).some(([, name = '']) => secretName.test(name))

function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}
