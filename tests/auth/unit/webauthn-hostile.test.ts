// Answers of authenticators that are made to be costly, or that no encoder writes.
import { randomBytes } from 'node:crypto'
import t from 'tap'
import { InvalidCredential, type CredentialDto } from '../../../server/services/auth/webauthn/credential.ts'
import { creationOptions } from '../../../server/services/auth/webauthn/options.ts'
import { verifyCreation, verifyRequest } from '../../../server/services/auth/webauthn/verification.ts'
import { cpuTimeUntil } from '../../support/cpu-time.ts'
import { SoftAuthenticator } from '../../support/soft-authenticator.ts'

const party = { id: 'shop.example', name: 'Shop', origins: ['https://shop.example'] }
const challenge = randomBytes(32).toString('base64url')
const expected = { party, challenge, verifiesUser: true }
const key = new SoftAuthenticator({ origin: 'https://shop.example' })
const user = { id: 'x', name: 'x', displayName: 'x' }
const honest: CredentialDto = key.create(creationOptions(party, { challenge, user, existing: [], lifetime: 60 }, true))
const created = await verifyCreation(honest, expected)
const signed: CredentialDto = key.get({ challenge })

const head = (major: number, length: number): Buffer => {
  const bytes = Buffer.alloc(5)
  bytes[0] = (major << 5) | 26
  bytes.writeUInt32BE(length, 1)
  return bytes
}

/** Objects of as many bytes. */
const objectsOf = (size: number): Readonly<Record<string, Buffer>> => ({
  'nested arrays': Buffer.alloc(size, 0x81),
  'nested maps': Buffer.alloc(size, Buffer.of(0xa1, 0x00)),
  'nested tags': Buffer.alloc(size, 0xc1),
  'an array of all bytes': Buffer.concat([head(4, size - 5), Buffer.alloc(size - 5)]),
  'a map of all bytes': Buffer.concat([head(5, (size - 5) / 2), Buffer.alloc(size - 5)]),
  'many texts': Buffer.concat([head(4, size / 2), Buffer.alloc(size - 5, 0x61)]),
  'a length beyond the end': Buffer.concat([head(2, 0xffffffff), Buffer.alloc(10)]),
  'an array beyond the end': Buffer.concat([head(4, 0xffffffff), Buffer.alloc(10)]),
  'no map': Buffer.of(0x00),
  'no authenticator data': Buffer.of(0xa0),
  nothing: Buffer.of(),
})

/** What `schemas/auth-public-key-credential-dto.json` permits. */
const largest = { attestationObject: 49_152, authenticatorData: 6144, clientData: 6144 } as const

for (const [label, object] of Object.entries(objectsOf(largest.attestationObject))) {
  t.test(`an attestation object: ${label}`, async (t) => {
    const response = { ...honest.response, attestationObject: object.toString('base64url') }
    const time = await cpuTimeUntil(() =>
      t.rejects(verifyCreation({ ...honest, response }, expected), InvalidCredential),
    )
    t.ok(time < 1000, `${time} ms of processor time`)
  })
}

for (const [label, object] of Object.entries(objectsOf(largest.authenticatorData))) {
  t.test(`extensions of a signature: ${label}`, async (t) => {
    // The flag says that extensions follow the 37 bytes of authenticator data.
    const data = Buffer.from(signed.response.authenticatorData ?? '', 'base64url')
    data[32] = 0x85
    const authenticatorData = Buffer.concat([data, object]).toString('base64url')
    const answer = { ...signed, response: { ...signed.response, authenticatorData } }
    const time = await cpuTimeUntil(() =>
      t.rejects(verifyRequest(answer, { ...expected, publicKey: created.publicKey }), InvalidCredential),
    )
    t.ok(time < 1000, `${time} ms of processor time`)
  })
}

t.test('client data', async (t) => {
  for (const text of ['null', '7', '[]', '""', '{', `${'['.repeat(largest.clientData)}`, '{"type":{"toString":1}}']) {
    const response = { ...honest.response, clientDataJSON: Buffer.from(text).toString('base64url') }
    await t.rejects(verifyCreation({ ...honest, response }, expected), InvalidCredential, text.slice(0, 30))
    const answer = { ...signed, response: { ...signed.response, clientDataJSON: response.clientDataJSON } }
    await t.rejects(verifyRequest(answer, { ...expected, publicKey: created.publicKey }), InvalidCredential)
  }
})

t.test('keys that are no keys', async (t) => {
  for (const publicKey of [Buffer.of(), Buffer.of(0xa0), Buffer.alloc(100, 0xff)]) {
    await t.rejects(verifyRequest(signed, { ...expected, publicKey }), InvalidCredential)
  }
})
