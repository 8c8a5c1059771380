// Reads JSON bodies as GoTrue does: of any content type; names that are not known are ignored.
import type { Request, Response } from 'express'
import { bodyReceiver, type BodyFault } from '../../http/body-bytes.ts'
import { jsonMembers } from '../../text/json-members.ts'
import { readJsonBytes } from '../../text/json-text.ts'
import { notStorable } from '../../text/storable-text.ts'
import type { DtoValidator, Fault } from '../../validation/validator.ts'
import { AuthError, authErrors } from './auth-error.ts'

export type AuthBody = {
  readonly value: Readonly<Record<string, unknown>>
  /** The raw values by name. */
  readonly members: ReadonlyMap<string, string>
}

/**
 * @param isOptional whether an empty body is `{}`
 * @throws AuthError 400 `bad_json`, `validation_failed`; 413 `request_entity_too_large`
 */
export type AuthBodyReader = (
  request: Request,
  response: Response,
  validate: DtoValidator,
  isOptional: boolean,
) => Promise<AuthBody>

/** Bytes. */
const limit = 1024 * 1024

const badJson = (why: string): AuthError =>
  new AuthError(400, 'bad_json', `Could not parse request body as JSON: ${why}`)

function receivingError(fault: BodyFault, cause: unknown): AuthError {
  if (fault === 'too large') {
    return new AuthError(413, 'request_entity_too_large', `Request body too large (max ${limit} bytes)`)
  }
  return new AuthError(400, 'bad_json', 'Could not read the request body', { cause })
}

/** JSON of the wrong shape is as JSON that cannot be parsed, as in GoTrue. */
function errorOf({ pointer, message }: Fault): AuthError {
  const text = `${pointer === '' ? 'the body' : pointer.slice(1)} ${message}`
  return message === notStorable ? authErrors.invalid(text) : badJson(text)
}

/** A reader of bodies of at most 1 MB. */
export function authBodyReader(): AuthBodyReader {
  const receive = bodyReceiver(limit, receivingError)
  return async (request, response, validate, isOptional) => {
    const bytes = await receive(request, response)
    if (bytes.length === 0 && isOptional) return { value: {}, members: new Map() }
    const reading = readJsonBytes(bytes)
    if (reading.kind === 'fault') throw badJson(reading.fault)
    // A null in the place of an object has no members, as in GoTrue.
    const value = reading.value ?? {}
    const [fault] = validate(value)
    if (fault) throw errorOf(fault)
    return { value: value as AuthBody['value'], members: jsonMembers(reading.text) }
  }
}
