// What `serve` prints in development: where it is, the keys, and three requests to paste.
import type { DevelopmentKeys } from './development-keys.ts'

/** A word for a POSIX shell, whatever is in it. */
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

/**
 * The text that is printed once the server listens.
 *
 * @param url without a slash at the end, `http://127.0.0.1:3000`
 * @param restPath where the REST API is mounted, `/rest/v1` or `/`
 */
export function welcome(url: string, restPath: string, keys: DevelopmentKeys): string {
  const { publishableKey, secretKey, user } = keys
  const runs = `${url}${restPath === '/' ? '' : restPath}/classification_runs`
  const apikey = `-H ${quoted(`apikey: ${user.key}`)}`
  // In one call, curl takes the cookie along from the first request to the next; `-b ''` is how it is told to keep any.
  const signIn = `-o /dev/null -b '' ${json({ email: user.email, password: user.password })} ${quoted(`${url}/auth/signin`)}`
  return `rowhouse is ready at ${url}

  Publishable key   ${publishableKey}
  Secret key        ${secretKey}

Store a classification run:
curl -sS ${quoted(runs)} ${apikey} -H 'Prefer: return=representation' ${json(run)}

List runs, the newest first:
curl -sS ${quoted(`${runs}?order=created_at.desc&limit=10`)} ${apikey}

Sign in, and create a report:
curl -sS ${signIn} --next -sS -b '' ${json(report)} ${quoted(`${url}/report`)}

The keys are for development: both requests above act as ${user.email}, and the secret key sees and changes everything.
`
}
