// The keys that sign access tokens of a development server, in its data folder.
import { generateKeyPairSync, randomUUID } from 'node:crypto'
import { join, resolve } from 'node:path'
import { createPrivate, readPrivate } from '../postgres/embedded/private-file.ts'

/**
 * The file with the keys, which is created with one ES256 key on first use. To rotate keys, add one to the file, move
 * `sign` of `key_ops` to it, and reload the settings: tokens of the other keys stay valid.
 */
export async function ensureJwtKeysFile(dataDir: string): Promise<string> {
  const file = join(resolve(dataDir), 'jwt-keys.json')
  if ((await readPrivate(file)) === null) await createPrivate(file, `${JSON.stringify([newKey()], null, 2)}\n`)
  return file
}

function newKey(): object {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  return {
    kid: randomUUID(),
    alg: 'ES256',
    use: 'sig',
    key_ops: ['sign', 'verify'],
    ...privateKey.export({ format: 'jwk' }),
  }
}
