// Verifies hashes of Firebase's variant of scrypt, in the notation of GoTrue:
// `$fbscrypt$v=1,n=<log2 of the cost>,r=<block size>,p=<parallelism>,ss=<salt separator>,sk=<signer key>$<salt>$<hash>`.
// https://github.com/firebase/scrypt
import { createCipheriv, scryptSync, timingSafeEqual } from 'node:crypto'

const pattern =
  /^\$fbscrypt\$v=1,n=(\d{1,2}),r=(\d{1,2}),p=(\d{1,2})(?:,ss=([A-Za-z0-9+/=]*))?,sk=([A-Za-z0-9+/=]+)\$([A-Za-z0-9+/=]+)\$([A-Za-z0-9+/=]+)$/

/** Maximum memory of one verification, in bytes. Firebase's own parameters (n=14, r=8) take 16 MiB. */
const maxMemory = 128 * 1024 * 1024
const keyLength = 32

type Parameters = {
  readonly cost: number
  readonly blockSize: number
  readonly parallelization: number
  readonly salt: Buffer
  readonly signerKey: Buffer
  readonly hash: Buffer
}

/** Whether the text is such a hash with parameters that can be computed. */
export const isFirebaseScrypt = (hash: string): boolean => parametersOf(hash) !== undefined

/** Compares a password with a hash; false for a text that is no such hash. */
export function verifyFirebaseScrypt(hash: string, password: string): boolean {
  const parameters = parametersOf(hash)
  if (!parameters) return false
  const key = derivedKey(password, parameters)
  const cipher = createCipheriv('aes-256-ctr', key, Buffer.alloc(16))
  const computed = Buffer.concat([cipher.update(parameters.signerKey), cipher.final()])
  return computed.length === parameters.hash.length && timingSafeEqual(computed, parameters.hash)
}

function parametersOf(text: string): Parameters | undefined {
  const [, n, r, p, separator = '', signerKey = '', salt = '', hash = ''] = pattern.exec(text) ?? []
  const [power, blockSize, parallelization] = [Number(n), Number(r), Number(p)]
  const isBounded = power >= 1 && blockSize >= 1 && parallelization >= 1 && memoryOf(power, blockSize) <= maxMemory
  if (!isBounded) return undefined
  return {
    cost: 2 ** power,
    blockSize,
    parallelization,
    salt: Buffer.concat([Buffer.from(salt, 'base64'), Buffer.from(separator, 'base64')]),
    signerKey: Buffer.from(signerKey, 'base64'),
    hash: Buffer.from(hash, 'base64'),
  }
}

const memoryOf = (power: number, blockSize: number): number => 128 * 2 ** power * blockSize

const derivedKey = (password: string, { salt, cost, blockSize, parallelization }: Parameters): Buffer =>
  scryptSync(password, salt, keyLength, { cost, blockSize, parallelization, maxmem: 2 * maxMemory })
