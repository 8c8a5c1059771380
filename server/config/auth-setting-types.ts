// Types of the settings of `/auth/v1`, with GoTrue's notations.
import { scopeFault } from '../identity/oauth-scopes.ts'
import type { Rate } from '../services/auth/settings.ts'
import { goDuration } from '../text/go-duration.ts'
import type { Reading, SettingType } from './setting.ts'
import { quoted, textual } from './setting-reading.ts'
import { emptyableList } from './setting-types.ts'

const value = <T>(it: T): Reading<T> => ({ kind: 'value', value: it })
const invalid = (message: string): Reading<never> => ({ kind: 'invalid', message })

const notADuration = 'must be a duration such as 30s, 10m or 1h30m'

/** Seconds, given as a duration in Go's notation. */
export const duration: SettingType<number> = textual(
  'duration',
  (it) => {
    const seconds = goDuration(it)
    return seconds === undefined || seconds < 0 ? invalid(notADuration) : value(seconds)
  },
  (it) => quoted(`${it}s`),
)

/** The same, above zero and at most a day. */
export const lifetime: SettingType<number> = textual(
  'duration',
  (it) => {
    const seconds = goDuration(it)
    return seconds === undefined || seconds <= 0 || seconds > 86_400
      ? invalid(`${notADuration}, above zero and at most 24h`)
      : value(seconds)
  },
  (it) => quoted(`${it}s`),
)

/** The same, above zero; null when not set. */
export const optionalDuration: SettingType<number | null> = textual<number | null>(
  'duration',
  (it) => {
    const seconds = goDuration(it)
    return seconds === undefined || seconds <= 0 ? invalid(`${notADuration}, above zero`) : value(seconds)
  },
  (it) => quoted(it === null ? '' : `${it}s`),
)

/** `30`, which is per hour, or `30/10m`. */
export const rate: SettingType<Rate> = textual(
  'rate',
  (it) => {
    const [, events = '', period] = /^(\d{1,9}(?:\.\d+)?)(?:\/(.+))?$/.exec(it) ?? []
    const seconds = period === undefined ? 3600 : goDuration(period)
    return events === '' || seconds === undefined || seconds <= 0
      ? invalid('must be a number of events per hour, or a rate such as 30/10m')
      : value({ events: Number(events), period: seconds })
  },
  ({ events, period }) => quoted(period === 3600 ? String(events) : `${events}/${period}s`),
)

const notACount = 'must be a number, 0 or more'

/** A number of events, which GoTrue allows to have a fraction. */
export const count: SettingType<number> = {
  name: 'number',
  read: (given) => {
    if (given === '') return { kind: 'unset' }
    const text = typeof given === 'number' || typeof given === 'string' ? String(given) : ''
    return /^\d{1,9}(?:\.\d+)?$/.test(text) ? value(Number(text)) : invalid(notACount)
  },
  dump: String,
}

/** Sets of characters, separated by colons. A backslash before a colon makes it part of a set. */
export const characterSets: SettingType<readonly string[]> = textual<readonly string[]>(
  'sets of characters',
  (it) =>
    value(
      it
        .split(/(?<!\\):/)
        .map((set) => set.replaceAll('\\:', ':'))
        .filter((set) => set !== ''),
    ),
  (it) => quoted(it.map((set) => set.replaceAll(':', '\\:')).join(':')),
)

/** An http(s) URL; without a slash at the end. */
export const httpUrl: SettingType<string | null> = textual<string | null>(
  'URL',
  (it) =>
    URL.canParse(it) && /^https?:/i.test(it) ? value(it.replace(/\/+$/, '')) : invalid('must be an http(s) URL'),
  (it) => quoted(it ?? ''),
)

/** Any absolute URL, such as one with the scheme of an app. */
export const absoluteUrl: SettingType<string | null> = textual<string | null>(
  'URL',
  (it) => (URL.canParse(it) ? value(it) : invalid('must be an absolute URL')),
  (it) => quoted(it ?? ''),
)

/** A domain in lower case, without scheme and port. */
export const domain: SettingType<string | null> = textual<string | null>(
  'domain',
  (it) =>
    /^(?=.{1,253}$)(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)*[a-z][a-z0-9-]{0,61}[a-z0-9]$/.test(it)
      ? value(it)
      : invalid('must be a domain in lower case such as example.org, without scheme and port, or localhost'),
  (it) => quoted(it ?? ''),
)

/** Origins as browsers write them, and those of apps. The list may be empty. */
export const origins: SettingType<readonly string[]> = {
  ...emptyableList,
  read: (given) => {
    const reading = emptyableList.read(given)
    const wrong = reading.kind === 'value' ? reading.value.find((origin) => !isOrigin(origin)) : undefined
    return wrong === undefined
      ? reading
      : invalid(`must be origins such as https://example.org, in lower case and without a path, not ${wrong}`)
  },
}

const isOrigin = (text: string): boolean =>
  /^(?:android|ios):./.test(text) || (/^https?:/.test(text) && URL.canParse(text) && new URL(text).origin === text)

/** A path below the site, which may have a query. */
export const sitePath: SettingType<string | null> = textual<string | null>(
  'path',
  (it) =>
    /^\/?(?!\/)[\x21\x24-\x5b\x5d-\x7e]*$/.test(it)
      ? value(it.startsWith('/') ? it : `/${it}`)
      : invalid('must be a path of the site such as /oauth/consent'),
  (it) => quoted(it ?? ''),
)

/** Scopes of the OAuth server, separated by spaces. */
export const scopes: SettingType<string> = textual(
  'scopes',
  (it) => {
    const fault = scopeFault(it)
    return fault === undefined ? value(it) : invalid(fault)
  },
  (it) => quoted(it),
)
