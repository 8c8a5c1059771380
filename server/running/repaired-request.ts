// Rewrites requests whose request line Node's HTTP parser rejects.
import { METHODS, type IncomingMessage } from 'node:http'

export type RepairedRequest = {
  /** Method and target as the client sent them, one character per byte. */
  readonly method: string
  readonly target: string
  /** The request with another method, and with the target percent-encoded. */
  readonly bytes: Buffer
}

/** An error of Node's parser, with the properties that Node adds. */
export type ParseError = Error & {
  readonly code?: string
  /** The last received packet. */
  readonly rawPacket?: Buffer
  /** Bytes of the packet before the rejected one. */
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
 * Repairs the request line of a packet that the parser rejected. Repairs only a packet with exactly one whole request, so
 * that bytes before or after it cannot be mistaken for a part of it (request smuggling).
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
  // Node uses the method only to decide whether there is a body.
  const readAs = method === 'HEAD' || method === 'GET' ? method : 'POST'
  const bytes = Buffer.from(`${readAs} ${target.replace(rawByte, escape)} ${version}${text.slice(lineEnd)}`, 'latin1')
  return { method, target, bytes }
}

/**
 * Whether the parser rejected the method or the target. Otherwise the packet only looks like a request, but continues a
 * request line of an earlier packet, like `DELETE /items` after `POS`.
 */
function explains(code: string | undefined, method: string, bytesParsed: number): boolean {
  if (code === 'HPE_INVALID_METHOD') return !knownMethods.has(method)
  // The parser may count the rejected byte, and the byte after the method is not part of the target.
  return code === 'HPE_INVALID_URL' && bytesParsed > method.length + 1
}

/** A `CONNECT` request without its tunnel. */
export function repairConnect({ url: target = '', rawHeaders }: IncomingMessage): RepairedRequest {
  let head = `POST ${target} HTTP/1.1\r\n`
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index] ?? ''
    // Bytes after the head are not a body.
    if (!framing.test(name)) head += `${name}: ${rawHeaders[index + 1] ?? ''}\r\n`
  }
  return { method: 'CONNECT', target, bytes: Buffer.from(`${head}\r\n`, 'latin1') }
}
