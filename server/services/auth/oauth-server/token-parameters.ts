// The body of POST /oauth/token: a form, or JSON as in GoTrue.
import type { IncomingMessage, ServerResponse } from 'node:http'
import { isJsonObject } from '../../../text/json-object.ts'
import { isStorable } from '../../../text/storable-text.ts'
import { OAuthError } from '../auth-error.ts'
import { readText } from '../form-body.ts'

const names = [
  'grant_type',
  'code',
  'refresh_token',
  'redirect_uri',
  'client_id',
  'client_secret',
  'code_verifier',
  'resource',
] as const

/** Without those that are missing or empty. */
export type TokenParameters = Readonly<Partial<Record<(typeof names)[number], string>>>

/**
 * The parameters of a token request.
 *
 * @throws OAuthError `invalid_request`; AuthError 413
 */
export async function readTokenParameters(
  request: IncomingMessage,
  response: ServerResponse,
): Promise<TokenParameters> {
  const body = await readText(request, response)
  const isJson = request.headers['content-type']?.includes('application/json') === true
  const given = isJson ? ofJson(body) : ofForm(body)
  return Object.fromEntries(
    names.flatMap((name) => {
      const text = given(name)
      if (text === undefined || text === '') return []
      if (!isStorable(text)) throw new OAuthError('invalid_request', `${name} has characters that are not allowed`)
      return [[name, text]]
    }),
  )
}

type Given = (name: string) => string | undefined

function ofJson(body: string): Given {
  let value: unknown
  try {
    value = JSON.parse(body)
  } catch {
    throw new OAuthError('invalid_request', 'Invalid JSON body')
  }
  if (!isJsonObject(value)) throw new OAuthError('invalid_request', 'Invalid JSON body')
  return (name) => {
    const member = Object.hasOwn(value, name) ? value[name] : undefined
    if (member === undefined || member === null) return undefined
    if (typeof member !== 'string') throw new OAuthError('invalid_request', `${name} must be a string`)
    return member
  }
}

function ofForm(body: string): Given {
  const form = new URLSearchParams(body)
  return (name) => {
    const [text, ...more] = form.getAll(name)
    if (more.length > 0) throw new OAuthError('invalid_request', `${name} must not be given more than once`)
    return text
  }
}
