// The text that `serve` prints in development: its address, the keys, and three requests to paste.
import pc from 'picocolors'
import type { ServiceName } from '../../config/config.ts'
import { signsIn } from '../../config/signing-in.ts'
import { withoutPassword } from '../../postgres/connection/connection-string.ts'
import type { DevelopmentKeys } from '../../running/development-keys-file.ts'

/** Quotes a word for a POSIX shell. */
export const quoted = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`

const run = {
  image_uri: 'https://example.com/leaf.jpg',
  image_source: 'camera',
  result_label: 'healthy',
  confidence: 97.5,
  is_positive: false,
  recommendation: 'Nothing to do',
  model_version: '1.0.0',
}

/** The sample data has comparable reports. */
const vehicle = { manufacturer: 'Toyota', model: 'Corolla', year: 2019, mileage: 40000, lat: 52.52, lng: 13.405 }

/** Characters of a line of JSON. */
const widest = 72

/** JSON in lines, which a shell takes for one word in quotes. */
function inLines(value: Readonly<Record<string, unknown>>): string {
  const members = Object.entries(value).map(([name, member]) => `${JSON.stringify(name)}: ${JSON.stringify(member)}`)
  const lines = ['']
  for (const [index, member] of members.entries()) {
    const text = index === 0 ? `{${member}` : member
    const last = lines.at(-1) ?? ''
    if (last !== '' && last.length + text.length > widest) lines.push(` ${text},`)
    else lines[lines.length - 1] = last === '' ? `${text},` : `${last} ${text},`
  }
  return `${lines.join('\n').slice(0, -1)}}`
}

/** A command of several lines. */
const command = (url: string, ...options: readonly string[]): string =>
  [`curl -sS ${quoted(url)}`, ...options].join(' \\\n  ')

const header = (text: string): string => `-H ${quoted(text)}`
const json = (value: Readonly<Record<string, unknown>>): readonly string[] => [
  header('Content-Type: application/json'),
  `-d ${quoted(inLines(value))}`,
]

/** What a request does, and the commands that send it. */
type Request = readonly [title: string, commands: string]

export type WelcomeOptions = {
  /** Without a trailing slash: `http://127.0.0.1:3000`. */
  readonly url: string
  /** Mount path of the REST API: `/rest/v1` or `/`. */
  readonly restPath: string
  readonly keys: DevelopmentKeys
  /** The services of the server; requests to others are left out. */
  readonly services: readonly ServiceName[]
  /** Connection string of the embedded database's superuser. Its password is left out. */
  readonly databaseUri: string
  /** File with the password of the user. */
  readonly keysFile: string
  /** How a command of this program is run from the current folder: `rowhouse sample` becomes `node dist/main.js sample`. */
  readonly runs: (command: string) => string
  /** Whether the sample data is added at the start, so that no command has to. */
  readonly hasSample?: boolean
  /** Whether the mails of `/auth/v1` are shown on a page, because there is no mail server. */
  readonly hasMailbox?: boolean
  /** The link that opens the console; undefined without it. */
  readonly consoleLink?: string | undefined
  /** Whether to use colours. By default, if the terminal supports them and neither `NO_COLOR` nor `--no-color` is set. */
  readonly colors?: boolean
}

/** The requests of the services that the server has. */
function requestsOf({ url, restPath, keys, services, runs, hasSample = false }: WelcomeOptions): readonly Request[] {
  if (!services.includes('rest')) return []
  const rest = `${url}${restPath === '/' ? '' : restPath}`
  const apikey = header(`apikey: ${keys.user.key}`)
  const analysis: readonly Request[] = [
    [
      'Store a classification run',
      command(`${rest}/classification_runs`, apikey, header('Prefer: return=representation'), ...json(run)),
    ],
    ['List runs, the newest first', command(`${rest}/classification_runs?order=created_at.desc&limit=10`, apikey)],
  ]
  const estimate = command(`${rest}/rpc/estimate_report`, apikey, ...json(vehicle))
  const reports: readonly Request[] = [
    hasSample
      ? ['Ask what a car is worth', estimate]
      : ['Add sample data, and ask what a car is worth', `${runs('sample')}\n${estimate}`],
  ]
  return [...(services.includes('analysis') ? analysis : []), ...(services.includes('reports') ? reports : [])]
}

/** The text that is printed on a terminal once the server listens. It contains no passwords. */
export function welcome(options: WelcomeOptions): string {
  const { url, keys, services, databaseUri, keysFile, runs, hasMailbox = false, consoleLink } = options
  const { colors = pc.isColorSupported } = options
  const { bold, cyan, dim, green } = pc.createColors(colors)
  const { publishableKey, secretKey, user } = keys
  const requests = requestsOf(options)
  const signInLines = [
    ['Sign-in', `${url}/auth/v1`, `for supabase-js: createClient('${url}', publishable key)`],
    ...(hasMailbox ? [['Mailbox', `${url}/auth/v1/dev/mailbox`, 'the mails of sign-in']] : []),
  ].map(([name = '', page = '', note = '']) => `  ${name.padEnd(17)} ${cyan(page)}  ${dim(note)}\n`)
  return `
${bold(green(`rowhouse is ready at ${url}`))}

${
  consoleLink === undefined
    ? ''
    : `  Console           ${cyan(consoleLink)}
                    ${dim(`opens once, within an hour; ${runs('console')} prints a new link`)}
`
}\
  API reference     ${cyan(`${url}/docs`)}
  Guides            ${cyan(`${url}/docs/guide/`)}
${signsIn(services) ? signInLines.join('') : ''}\
  Database          ${cyan(withoutPassword(databaseUri))}
                    ${dim(`${runs('psql')} opens it, ${runs('url')} prints the URL with its password`)}

  User key          ${user.key}
                    ${dim(`acts as ${user.email}, whose password is in ${keysFile}`)}
  Publishable key   ${publishableKey}  ${dim('acts as anon; for web pages and apps')}
  Secret key        ${secretKey}  ${dim('acts as service_role; sees and changes everything')}
${requests.length === 0 ? '' : `\nTo try it, run these commands in another terminal, in this folder. They use the user key.\n`}\
${requests.map(([title, commands], index) => `\n${bold(`${index + 1}. ${title}:`)}\n${commands}\n`).join('')}
${dim('The keys and the database are for development. Ctrl-C stops the server.')}
`
}
