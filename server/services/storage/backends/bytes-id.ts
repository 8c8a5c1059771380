// What the stores call the bytes of a version: the name of a file, and the end of a key in S3.
import { createHash } from 'node:crypto'
import type { ObjectKey } from '../object-store.ts'

const version = /^[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}$/
const id = /^([0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12})-[0-9a-f]{32}$/

/**
 * The version, which is a UUID, and a hash of the names of bucket and object. So names of objects are no part of paths or
 * keys, and a row that names the version of another object has no bytes.
 *
 * @returns undefined unless the version is a UUID, as this server creates them
 */
export function idOfBytes(key: ObjectKey): string | undefined {
  if (!version.test(key.version)) return undefined
  const hash = createHash('sha256').update(`${key.bucket}\0${key.name}`).digest('hex').slice(0, 32)
  return `${key.version}-${hash}`
}

/** The version that an id contains; undefined for other names. */
export const versionOf = (name: string): string | undefined => id.exec(name)?.[1]
