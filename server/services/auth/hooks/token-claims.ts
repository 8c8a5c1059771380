// What a custom access token hook may do with the claims of a token: add, and change values, but not leave out those that
// clients and policies rely on.
import { jsonMembers } from '../../../text/json-members.ts'
import { AuthError } from '../auth-error.ts'
import { isJsonObject } from '../../../text/json-object.ts'
import type { HookResponse } from './hook-response.ts'

const required: readonly string[] = [
  'aud',
  'exp',
  'iat',
  'sub',
  'email',
  'phone',
  'role',
  'aal',
  'session_id',
  'is_anonymous',
  // Without it, policies would take a client of the OAuth server for its person.
  'client_id',
]

const isText = (value: unknown): boolean => typeof value === 'string'

/** The types of known claims. Others may be of any type. */
const types: Readonly<Record<string, readonly [name: string, test: (value: unknown) => boolean]>> = {
  aud: ['string/array', (value) => isText(value) || Array.isArray(value)],
  exp: ['integer', Number.isInteger],
  iat: ['integer', Number.isInteger],
  nbf: ['integer', Number.isInteger],
  amr: ['array', Array.isArray],
  app_metadata: ['object', isJsonObject],
  user_metadata: ['object', isJsonObject],
  ...Object.fromEntries(
    ['jti', 'iss', 'sub', 'email', 'phone', 'role', 'aal', 'session_id', 'client_id'].map((name) => [
      name,
      ['string', isText] as const,
    ]),
  ),
}

/**
 * The claims in the response of a custom access token hook, as JSON text.
 *
 * @param sent the claims that the hook got, as JSON text: they do not include an address that is not confirmed
 * @throws AuthError 500 if there are none, or if a claim is missing or of the wrong type
 */
export function claimsOfHook({ value, text }: HookResponse, sent: string): string {
  const { claims } = value
  if (!('claims' in value)) throw failed('output claims field is missing')
  if (!isJsonObject(claims)) throw failed('output claims must be an object')
  const given = jsonMembers(sent)
  const faults = [
    ...required.filter((name) => given.has(name) && !(name in claims)).map((name) => `(root): ${name} is required`),
    ...Object.entries(types).flatMap(([name, [type, test]]) =>
      name in claims && !test(claims[name])
        ? [`${name}: Invalid type. Expected: ${type}, given: ${typeOf(claims[name])}`]
        : [],
    ),
  ]
  if (faults.length > 0) {
    throw failed(
      `output claims do not conform to the expected schema: \n${faults.map((fault) => `- ${fault}\n`).join('')}`,
    )
  }
  return jsonMembers(text).get('claims') ?? JSON.stringify(claims)
}

const failed = (message: string): AuthError => new AuthError(500, 'unexpected_failure', message)

function typeOf(value: unknown): string {
  if (value === null) return 'null'
  if (Array.isArray(value)) return 'array'
  return Number.isInteger(value) ? 'integer' : typeof value
}
