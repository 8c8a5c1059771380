// The text that `serve` prints in development: its address, the keys, and three requests to paste.
import pc from 'picocolors'
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

export type WelcomeOptions = {
  /** Without a trailing slash: `http://127.0.0.1:3000`. */
  readonly url: string
  /** Mount path of the REST API: `/rest/v1` or `/`. */
  readonly restPath: string
  readonly keys: DevelopmentKeys
  /** Connection string of the embedded database's superuser. */
  readonly databaseUri: string
  /** Whether to use colours. By default, if the terminal supports them and neither `NO_COLOR` nor `--no-color` is set. */
  readonly colors?: boolean
}

/** The text that is printed on a terminal once the server listens. */
export function welcome({ url, restPath, keys, databaseUri, colors = pc.isColorSupported }: WelcomeOptions): string {
  const { bold, cyan, dim, green } = pc.createColors(colors)
  const { publishableKey, secretKey, user } = keys
  const runs = `${url}${restPath === '/' ? '' : restPath}/classification_runs`
  const apikey = `-H ${quoted(`apikey: ${user.key}`)}`
  // Within one call, curl sends the cookie of the first response with the next request. `-b ''` enables its cookie store.
  const signIn = `-o /dev/null -b '' ${json({ email: user.email, password: user.password })} ${quoted(`${url}/auth/signin`)}`
  return `
${bold(green(`rowhouse is ready at ${url}`))}

  API reference     ${cyan(`${url}/docs`)}
  Database          psql ${quoted(databaseUri)}

  User key          ${user.key}  ${dim(`acts as ${user.email}; requests 1 and 2 use it`)}
  Publishable key   ${publishableKey}  ${dim('acts as anon; for web pages and apps')}
  Secret key        ${secretKey}  ${dim('acts as service_role; sees and changes everything')}

${bold('1. Store a classification run, with the user key:')}
curl -sS ${quoted(runs)} ${apikey} -H 'Prefer: return=representation' ${json(run)}

${bold('2. List runs, the newest first, with the user key:')}
curl -sS ${quoted(`${runs}?order=created_at.desc&limit=10`)} ${apikey}

${bold('3. Sign in, and create a report with the session cookie:')}
curl -sS ${signIn} --next -sS -b '' ${json(report)} ${quoted(`${url}/report`)}

${dim('The keys and the database are for development. Ctrl-C stops the server.')}
`
}
