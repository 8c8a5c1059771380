// Reads JSON bodies as GoTrue does: of any content type; names that are not known are ignored.
import express, { type Request, type Response } from 'express'
import { jsonMembers } from '../../text/json-members.ts'
import { readJson } from '../../text/json-text.ts'
import type { DtoValidator } from '../../validation/validator.ts'
import { AuthError } from './auth-error.ts'

export type AuthBody = {
  readonly value: Readonly<Record<string, unknown>>
  /** The raw values by name. */
  readonly members: ReadonlyMap<string, string>
}

/**
 * @param isOptional whether an empty body is `{}`
 * @throws AuthError 400 `bad_json`, 413 `request_entity_too_large`
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
const tooLarge = (): AuthError =>
  new AuthError(413, 'request_entity_too_large', `Request body too large (max ${limit} bytes)`)

/** A reader of bodies of at most 1 MB. */
export function authBodyReader(): AuthBodyReader {
  const receive = express.raw({ type: () => true, limit })
  return async (request, response, validate, isOptional) => {
    // Rejects a large body before receiving it.
    if (Number(request.headers['content-length'] ?? 0) > limit) throw tooLarge()
    await new Promise<void>((resolve, reject) => {
      receive(request, response, (error?: unknown) => {
        if (error === undefined) resolve()
        else reject(unreadable(error))
      })
    })
    const text = textOf(request.body as unknown)
    if (text === '' && isOptional) return { value: {}, members: new Map() }
    const reading = readJson(text)
    if (reading.kind === 'fault') throw badJson(reading.fault)
    // A null in the place of an object has no members, as in GoTrue.
    const value = reading.value ?? {}
    const [fault] = validate(value)
    if (fault) throw badJson(`${fault.pointer === '' ? 'the body' : fault.pointer.slice(1)} ${fault.message}`)
    return { value: value as AuthBody['value'], members: jsonMembers(text) }
  }
}

const utf8 = new TextDecoder('utf-8', { fatal: true })

function textOf(bytes: unknown): string {
  // Without a body, `express.raw` sets no buffer.
  if (!Buffer.isBuffer(bytes)) return ''
  try {
    return utf8.decode(bytes)
  } catch {
    throw badJson('is not valid UTF-8')
  }
}

/** Maps an error of Express's body parser by its status. */
function unreadable(error: unknown): AuthError {
  const status = typeof error === 'object' && error !== null && 'status' in error ? error.status : undefined
  if (status === 413) return tooLarge()
  return new AuthError(400, 'bad_json', 'Could not read the request body', { cause: error })
}
