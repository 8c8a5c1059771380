// The types of settings: how raw values become typed ones, with PostgREST's coercions.
import { parseRoleClaim } from '../identity/role-claim/role-claim.ts'
import type { QualifiedIdentifier } from '../catalogue/identifier.ts'
import { nearestName } from '../text/nearest-name.ts'
import type { Reading, SettingType } from './setting.ts'
import { checkedKeys, checkedSecret, withoutLineEnd } from './secret.ts'
import { invalid, quoted, textual, textualOrFile, value } from './setting-reading.ts'
import { isHostOrNetwork } from '../text/host-text.ts'
import { isUri, parseUri } from '../text/uri.ts'

export * from './number-setting-types.ts'

export const text: SettingType<string> = textual('text', value, quoted)
export const optionalText = textual<string | null>('text', value, (it) => quoted(it ?? ''))

/** A connection string, or `@file`. */
export const connectionString = textualOrFile<string | null>('text', value, optionalText.dump)

/** The name of a time zone that PostgreSQL and Node know. https://www.iana.org/time-zones */
export const timeZone = textual<string | null>(
  'time zone',
  (it) => (isTimeZone(it) ? value(it) : invalid('must be the name of a time zone, such as Europe/Berlin or UTC')),
  optionalText.dump,
)

function isTimeZone(name: string): boolean {
  // An offset such as +02:00 has the opposite meaning in PostgreSQL.
  if (!/^[A-Za-z]/.test(name)) return false
  try {
    new Intl.DateTimeFormat('en', { timeZone: name })
    return true
  } catch {
    return false
  }
}

/** The secret of tokens as it is given, or `@file`. `decodeSecret` decodes it. */
export const encodedSecret: SettingType<string | Buffer | null> = {
  ...textual<string | Buffer | null>('text', value, (it) => quoted(String(it ?? ''))),
  readContents: (contents) => value(withoutLineEnd(contents)),
}

/** A secret of tokens, or `@file`. */
export const secret: SettingType<string | null> = {
  ...textual<string | null>('text', checkedSecret, optionalText.dump),
  readContents: (contents) => checkedSecret(withoutLineEnd(contents)),
}

/** JSON Web Keys as JSON text, or `@file`. */
export const jsonWebKeys = textualOrFile<string | null>('text', checkedKeys, optionalText.dump)

const splitOnCommas = (list: string): string[] => list.split(',').map((item) => item.trim())

export const list = textual<readonly string[]>(
  'list',
  (it) => value(splitOnCommas(it)),
  (it) => quoted(it.join(',')),
)

/** A list that may be empty. */
export const emptyableList: SettingType<readonly string[]> = {
  ...list,
  read: (given) => (given === '' ? value([]) : list.read(given)),
}

/** Names of hosts, addresses and networks, separated by commas; may be empty. */
export const hostsAndNetworks: SettingType<readonly string[]> = textual<readonly string[]>(
  'list',
  (it) => {
    const entries = splitOnCommas(it).filter((entry) => entry !== '')
    const refused = entries.find((entry) => !isHostOrNetwork(entry))
    return refused === undefined
      ? value(entries)
      : invalid(`${quoted(refused)} is not the name of a host, an address, or a network such as 10.0.0.0/8`)
  },
  list.dump,
)

/** A list separated by white space, which may be empty; or `@file`. */
export const words = textualOrFile<readonly string[]>(
  'list',
  (it) => value(it.split(/\s+/).filter((word) => word !== '')),
  (it) => quoted(it.join(' ')),
)

const reserved = ['pg_catalog', 'information_schema']

export const schemas = textual<readonly string[]>(
  'list',
  (it) => {
    const names = splitOnCommas(it)
    const refused = reserved.find((name) => names.includes(name))
    return refused === undefined ? value(names) : invalid(`db-schemas does not allow schema: '${refused}'`)
  },
  list.dump,
)

/** One of several words. The error message begins with `message`, which is PostgREST's. */
export function choice<T extends string>(words: readonly T[], message: string): SettingType<T> {
  const parse = (it: string): Reading<T> => {
    const word = words.find((candidate) => candidate === it)
    if (word !== undefined) return value(word)
    const nearest = nearestName(it, words)
    const advice = nearest === undefined ? '' : `; did you mean ${nearest}?`
    return invalid(
      `${message} Check your configuration. ${JSON.stringify(it.slice(0, 40))} is not one of ${words.join(', ')}${advice}`,
    )
  }
  return textual(words.map((word) => `\`${word}\``).join(', '), parse, quoted)
}

/** Permissions of a socket, as octal digits. Like PostgREST, reads the leading octal digits. */
export const socketMode = (name: string): SettingType<number> =>
  textual(
    'octal',
    (it) => {
      const digits = /^[0-7]+/.exec(it)?.[0]
      if (digits === undefined) return invalid(`Invalid ${name}: not an octal`)
      const mode = Number.parseInt(digits, 8)
      return mode < 0o600 || mode > 0o777 ? invalid(`Invalid ${name}: needs to be between 600 and 777`) : value(mode)
    },
    (mode) => quoted(mode.toString(8)),
  )

/** `schema.name`, or an unqualified name. */
export const qualifiedName = textual<QualifiedIdentifier | null>(
  'name',
  (it) => {
    const dot = it.indexOf('.')
    return dot === -1 || dot === it.length - 1
      ? value({ schema: '', name: dot === -1 ? it : it.slice(0, dot) })
      : value({ schema: it.slice(0, dot), name: it.slice(dot + 1) })
  },
  (it) => quoted(it === null ? '' : it.schema === '' ? it.name : `${it.schema}.${it.name}`),
)

/** RFC 7519's StringOrURI: text with a colon in it must be a URI. */
export const audience = textual<string | null>(
  'text or URI',
  (it) => (it.includes(':') && !isUri(it) ? invalid('jwt-aud should be a string or a valid URI') : value(it)),
  optionalText.dump,
)

/** An http(s) URI with a host, without user, query and fragment. */
export const proxyUri = textual<string | null>(
  'URI',
  (it) => {
    const uri = parseUri(it)
    const isValid =
      uri !== undefined &&
      /^https?$/i.test(uri.scheme) &&
      uri.authority !== undefined &&
      uri.authority.userinfo === undefined &&
      uri.authority.host !== '' &&
      (uri.authority.port === undefined || (Number(uri.authority.port) > 0 && Number(uri.authority.port) < 65536)) &&
      uri.query === undefined &&
      uri.fragment === undefined
    return isValid ? value(it) : invalid('Malformed proxy uri, a correct example: https://example.com:8443/basePath')
  },
  optionalText.dump,
)

/** Name of an HTTP header. https://www.rfc-editor.org/rfc/rfc9110#name-field-names */
export const headerName = textual<string | null>(
  'header name',
  (it) => (/^[\w!#$%&'*+.^`|~-]+$/.test(it) ? value(it) : invalid('must be the name of an HTTP header')),
  optionalText.dump,
)

export const roleClaimKey: SettingType<string> = textual(
  'JSON path',
  (it) => {
    const claim = parseRoleClaim(it)
    return claim.kind === 'invalid' ? invalid(claim.message) : value(it)
  },
  // Doubles dollar signs, because a single one starts a variable in the file.
  (it) => {
    const claim = parseRoleClaim(it)
    return quoted(
      (claim.kind === 'invalid' ? it : claim.text).replaceAll('$', claim.kind === 'json path' ? '$$$$' : '$'),
    )
  },
)

/** A path to mount at: begins with a slash and does not end with one, unless it is the root. */
export const mountPath: SettingType<string> = textual(
  'path',
  (it) => {
    const segments = it
      .split('/')
      .filter((segment, index, all) => segment !== '' || (index !== 0 && index !== all.length - 1))
    const refused = segments.find((segment) => !/^[\w.~-]+$/.test(segment) || /^\.\.?$/.test(segment))
    return refused === undefined
      ? value(`/${segments.join('/')}`)
      : invalid('must be a path such as /rest/v1, of letters, digits and the characters - . _ ~')
  },
  quoted,
)

/** A mount path. Empty means the root. */
export const mountPathOrRoot: SettingType<string> = {
  ...mountPath,
  read: (given) => (given === '' ? value('/') : mountPath.read(given)),
}

/** Several of some words, separated by commas. */
export const choices = <T extends string>(words: readonly T[]): SettingType<readonly T[]> =>
  several(words, 'Unknown service.')

/** The same, with another beginning of the message about an unknown word. */
export const wordsOf = <T extends string>(words: readonly T[]): SettingType<readonly T[]> =>
  several(words, 'Unknown value.')

function several<T extends string>(words: readonly T[], message: string): SettingType<readonly T[]> {
  const one = choice(words, message)
  return textual<readonly T[]>(
    'list',
    (it) => {
      const chosen: T[] = []
      for (const name of splitOnCommas(it)) {
        const reading = one.read(name)
        if (reading.kind === 'invalid') return reading
        if (reading.kind === 'value' && !chosen.includes(reading.value)) chosen.push(reading.value)
      }
      return value(chosen)
    },
    list.dump,
  )
}

const minSecretLength = 32

/** Secrets, separated by commas. Messages never contain them. */
function readSecrets(text: string): Reading<readonly string[]> {
  const secrets = splitOnCommas(text)
  const short = secrets.findIndex((secret) => [...secret].length < minSecretLength)
  return short === -1
    ? value(secrets)
    : invalid(
        `each secret must be at least ${minSecretLength} characters long; number ${short + 1} of ${secrets.length} is not`,
      )
}

/** Secrets that sign cookies, or `@file`. */
export const sessionSecrets = textualOrFile('list', readSecrets, list.dump)

/** An http(s) URL without user and fragment. */
export const httpUrl = textual<string | null>(
  'URL',
  (it) => {
    const url = URL.canParse(it) ? new URL(it) : undefined
    const isValid = url !== undefined && /^https?:$/.test(url.protocol) && url.username === '' && url.hash === ''
    return isValid ? value(it) : invalid('must be an http or https URL without a user, such as http://localhost:4318')
  },
  optionalText.dump,
)

/** `name=value`, separated by commas, with percent-encoded names and values. */
export const attributes = textual<readonly (readonly [string, string])[]>(
  'list',
  (it) => {
    const pairs: (readonly [string, string])[] = []
    for (const item of splitOnCommas(it).filter((part) => part !== '')) {
      const equals = item.indexOf('=')
      const [name, text] = [item.slice(0, Math.max(equals, 0)), item.slice(equals + 1)].map((part) =>
        decoded(part.trim()),
      )
      if (name === undefined || name === '' || text === undefined) {
        return invalid(
          'must be name=value, separated by commas, percent-encoded: deployment.environment.name=production',
        )
      }
      pairs.push([name, text])
    }
    return value(pairs)
  },
  (it) => quoted(it.map((pair) => pair.map(encodeURIComponent).join('=')).join(',')),
)

function decoded(text: string): string | undefined {
  try {
    return decodeURIComponent(text)
  } catch {
    return undefined
  }
}
