// Requests that Node's HTTP parser refuses for their request line, written so that it takes them.
import { METHODS, type IncomingMessage } from 'node:http'

export type RepairedRequest = {
  /** Method and target as the client sent them, one character per byte. */
  readonly method: string
  readonly target: string
  /** The request with another method, and with the target percent-encoded. */
  readonly bytes: Buffer
}

/** What Node adds to the error of its parser. */
export type ParseError = Error & {
  readonly code?: string
  /** What was received last. */
  readonly rawPacket?: Buffer
  /** Bytes of the packet before the one that the parser refused. */
  readonly bytesParsed?: number
}

const knownMethods: ReadonlySet<string> = new Set(METHODS)
// RFC 9112, section 3; RFC 9110, section 5.6.2. Targets may have bytes above 127.
const requestLine = /^([!#$%&'*+\-.^_`|~0-9A-Za-z]+) ([\x21-\x7e\x80-\xff]+) (HTTP\/1\.[01])$/
const rawByte = /[\x80-\xff]/g
const bodyLength = /^content-length:[ \t]*(\d+)[ \t]*$/im
const transferEncoding = /^transfer-encoding[ \t]*:/im
const framing = /^(?:content-length|transfer-encoding)$/i
const headEnd = '\r\n\r\n'

const escape = (byte: string): string => `%${byte.charCodeAt(0).toString(16).toUpperCase()}`

/**
 * Repairs the request line of a packet that the parser refused. Only a packet that is one whole request is repaired: then
 * nothing before or after it can be taken for a part of it.
 *
 * @returns undefined when it cannot be repaired
 */
export function repairRequest({ code, rawPacket: packet, bytesParsed = 0 }: ParseError): RepairedRequest | undefined {
  if (!packet) return undefined
  const text = packet.toString('latin1')
  const lineEnd = text.indexOf('\r\n')
  const end = text.indexOf(headEnd)
  const [, method, target, version] = requestLine.exec(text.slice(0, lineEnd)) ?? []
  if (end < 0 || method === undefined || target === undefined || version === undefined) return undefined
  if (!explains(code, method, bytesParsed)) return undefined
  const headers = text.slice(lineEnd, end + 2)
  if (transferEncoding.test(headers)) return undefined
  const length = Number(bodyLength.exec(headers)?.[1] ?? 0)
  if (text.length !== end + headEnd.length + length) return undefined
  // The method of a request that Node reads decides nothing but whether there is a body.
  const readAs = method === 'HEAD' || method === 'GET' ? method : 'POST'
  const bytes = Buffer.from(`${readAs} ${target.replace(rawByte, escape)} ${version}${text.slice(lineEnd)}`, 'latin1')
  return { method, target, bytes }
}

/**
 * Whether a method, or the target after it, is what the parser refused. Otherwise the packet only looks like a request: it
 * goes on with a request line that began in an earlier packet, as `DELETE /items` does after `POS`.
 */
function explains(code: string | undefined, method: string, bytesParsed: number): boolean {
  if (code === 'HPE_INVALID_METHOD') return !knownMethods.has(method)
  // The parser may count the byte that it refuses: that after the method is none of the target.
  return code === 'HPE_INVALID_URL' && bytesParsed > method.length + 1
}

/** A `CONNECT` request without its tunnel. */
export function repairConnect({ url: target = '', rawHeaders }: IncomingMessage): RepairedRequest {
  let head = `POST ${target} HTTP/1.1\r\n`
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index] ?? ''
    // What follows the head is no body.
    if (!framing.test(name)) head += `${name}: ${rawHeaders[index + 1] ?? ''}\r\n`
  }
  return { method: 'CONNECT', target, bytes: Buffer.from(`${head}\r\n`, 'latin1') }
}
