// The text that `serve` prints in development: its address, the keys, and three requests to paste.
import pc from 'picocolors'
import type { ServiceName } from '../../config/config.ts'
import { signsIn } from '../../config/signing-in.ts'
import type { DevelopmentKeys } from './development-keys.ts'

/** Quotes a word for a POSIX shell. */
const quoted = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`

const run = {
  image_uri: 'https://example.com/leaf.jpg',
  image_source: 'camera',
  result_label: 'healthy',
  confidence: 97.5,
  is_positive: false,
  recommendation: 'Nothing to do',
  model_version: '1.0.0',
}

const report = {
  manufacturer: 'Toyota',
  model: 'Corolla',
  year: 2019,
  mileage: 40000,
  price: 15500,
  lat: 52.52,
  lng: 13.405,
}

const json = (value: object): string => `-H 'Content-Type: application/json' -d ${quoted(JSON.stringify(value))}`

/** What a request does, and the command that sends it. */
type Request = readonly [title: string, command: string]

export type WelcomeOptions = {
  /** Without a trailing slash: `http://127.0.0.1:3000`. */
  readonly url: string
  /** Mount path of the REST API: `/rest/v1` or `/`. */
  readonly restPath: string
  readonly keys: DevelopmentKeys
  /** The services of the server; requests to others are left out. */
  readonly services: readonly ServiceName[]
  /** Connection string of the embedded database's superuser. */
  readonly databaseUri: string
  /** Whether the mails of `/auth/v1` are shown on a page, because there is no mail server. */
  readonly hasMailbox?: boolean
  /** Whether to use colours. By default, if the terminal supports them and neither `NO_COLOR` nor `--no-color` is set. */
  readonly colors?: boolean
}

/** The text that is printed on a terminal once the server listens. */
export function welcome({
  url,
  restPath,
  keys,
  services,
  databaseUri,
  hasMailbox = false,
  colors = pc.isColorSupported,
}: WelcomeOptions): string {
  const { bold, cyan, dim, green } = pc.createColors(colors)
  const { publishableKey, secretKey, user } = keys
  const runs = `${url}${restPath === '/' ? '' : restPath}/classification_runs`
  const apikey = `-H ${quoted(`apikey: ${user.key}`)}`
  // Within one call, curl sends the cookie of the first response with the next request. `-b ''` enables its cookie store.
  const signIn = `-o /dev/null -b '' ${json({ email: user.email, password: user.password })} ${quoted(`${url}/auth/signin`)}`
  const analysis: readonly Request[] = [
    [
      'Store a classification run, with the user key',
      `curl -sS ${quoted(runs)} ${apikey} -H 'Prefer: return=representation' ${json(run)}`,
    ],
    [
      'List runs, the newest first, with the user key',
      `curl -sS ${quoted(`${runs}?order=created_at.desc&limit=10`)} ${apikey}`,
    ],
  ]
  const reports: readonly Request[] = [
    [
      'Sign in, and create a report with the session cookie',
      `curl -sS ${signIn} --next -sS -b '' ${json(report)} ${quoted(`${url}/report`)}`,
    ],
  ]
  const requests = [
    ...(services.includes('analysis') ? analysis : []),
    ...(services.includes('reports') && services.includes('auth') ? reports : []),
  ]
  const signInLines = [
    ['Sign-in', `${url}/auth/v1`, `for supabase-js: createClient('${url}', publishable key)`],
    ...(hasMailbox ? [['Mailbox', `${url}/auth/v1/dev/mailbox`, 'the mails of sign-in']] : []),
  ].map(([name = '', page = '', note = '']) => `  ${name.padEnd(17)} ${cyan(page)}  ${dim(note)}\n`)
  return `
${bold(green(`rowhouse is ready at ${url}`))}

  API reference     ${cyan(`${url}/docs`)}
${signsIn(services) ? signInLines.join('') : ''}\
  Database          ${cyan(databaseUri)}  ${dim('rowhouse psql, rowhouse url')}

  User key          ${user.key}  ${dim(`acts as ${user.email}${services.includes('analysis') ? '; requests 1 and 2 use it' : ''}`)}
  Publishable key   ${publishableKey}  ${dim('acts as anon; for web pages and apps')}
  Secret key        ${secretKey}  ${dim('acts as service_role; sees and changes everything')}
${requests.map(([title, command], index) => `\n${bold(`${index + 1}. ${title}:`)}\n${command}\n`).join('')}
${dim('The keys and the database are for development. Ctrl-C stops the server.')}
`
}
