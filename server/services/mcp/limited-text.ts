// The body of the engine's response as text, within a limit.
import { PassThrough } from 'node:stream'
import { isStreamed, type RestResponse } from '../../rest/response/result.ts'
import { limitedBytes } from '../limited-bytes.ts'

/**
 * @param tooLarge the error of a body with more than `limit` bytes, of which the rest is not read
 * @throws the result of `tooLarge`; the error of the database
 */
export async function limitedText({ body }: RestResponse, limit: number, tooLarge: () => Error): Promise<string> {
  if (!isStreamed(body)) {
    if (Buffer.byteLength(body) > limit) throw tooLarge()
    return body.toString()
  }
  try {
    if (body.length !== undefined && body.length > limit) throw tooLarge()
    const stream = new PassThrough()
    body.sendTo(stream)
    return (await limitedBytes(stream, limit, tooLarge)).toString()
  } catch (error) {
    body.drop()
    throw error
  }
}
