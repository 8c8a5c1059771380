// Keys that are derived from the secrets of the server, one for each purpose, and signatures with them.
import { createHmac, timingSafeEqual } from 'node:crypto'

/** Bytes of a signature. */
export const tagLength = 16

/** @param purpose other purposes have other keys */
export const keyFor = (secret: Uint8Array, purpose: string): Buffer =>
  createHmac('sha256', secret).update(purpose).digest()

/** The signature of a text. */
export const tagOf = (key: Buffer, content: string | Buffer): Buffer =>
  createHmac('sha256', key).update(content).digest().subarray(0, tagLength)

/** Takes the same time whether or not the signature is valid. */
export const isTagOf = (tag: Buffer, key: Buffer, content: string | Buffer): boolean =>
  tag.length === tagLength && timingSafeEqual(tagOf(key, content), tag)
