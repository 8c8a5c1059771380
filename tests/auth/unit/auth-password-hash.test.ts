import { hash } from '@node-rs/argon2'
import { hash as bcrypt } from '@node-rs/bcrypt'
import t from 'tap'
import { createPasswords } from '../../../server/services/accounts/password.ts'
import {
  hashPassword,
  isOutdated,
  isPasswordHash,
  verifyHash,
} from '../../../server/services/accounts/password-hash.ts'

/** The example of https://github.com/firebase/scrypt */
const firebase =
  '$fbscrypt$v=1,n=14,r=8,p=1,ss=Bw==,sk=jxspr8Ki0RYycVU8zykbdLGjFQ3McFUH0uiiTvC8pVMXAn210wjLNmdZJzxUECKbm0QsEmYUSDzZvpjeJ9WmXA==$42xEC+ixf3L2lw==$lSrfV15cpx95/sZS2W9c9Kp6i/LVgQNDNC/qzrCnh1SAyZvqmZqAjTdn3aoItz+VHjoZilo78198JAdRuid5lQ=='
/** A hash of bcrypt with another version: they differ only for passwords above 255 bytes and for 8-bit characters of broken libraries. */
const version = (name: string, hash: string): string => hash.replace(/^\$2.\$/, () => `$${name}$`)
const own = hashPassword('correct horse')

t.test('hashes of other algorithms verify, and are outdated', async (t) => {
  const rows: readonly (readonly [name: string, hash: string, password: string])[] = [
    ['bcrypt 2a', version('2a', await bcrypt('correct horse', 4)), 'correct horse'],
    ['bcrypt 2b', version('2b', await bcrypt('correct horse', 4)), 'correct horse'],
    ['bcrypt 2y', version('2y', await bcrypt('correct horse', 4)), 'correct horse'],
    // https://www.openwall.com/crypt/
    ['bcrypt of crypt_blowfish', '$2a$05$CCCCCCCCCCCCCCCCCCCCC.E5YPO9kmyuRGyh0XouQYb4YMJKvyOeW', 'U*U'],
    [
      'argon2i',
      // 1 is argon2i.
      await hash('correct horse', { algorithm: 1, memoryCost: 64, timeCost: 1 }),
      'correct horse',
    ],
    ['argon2id', await hash('correct horse', { memoryCost: 64, timeCost: 1 }), 'correct horse'],
    ['Firebase', firebase, 'user1password'],
  ]
  for (const [name, stored, password] of rows) {
    t.ok(isPasswordHash(stored), name)
    t.ok(isOutdated(stored), name)
    t.ok(verifyHash(stored, password), name)
    t.notOk(verifyHash(stored, `${password} `), name)
    t.notOk(verifyHash(stored, ''), name)
  }
  t.ok(isPasswordHash(own))
  t.notOk(isOutdated(own))
  t.ok(verifyHash(own, 'correct horse'))
})

t.test('the normal form of a password', async (t) => {
  const [composed, decomposed] = ['caf\u00e9 au lait', 'cafe\u0301 au lait']
  t.ok(verifyHash(hashPassword(composed), decomposed), 'our hashes are of one form')
  const imported = await bcrypt(decomposed, 4)
  t.ok(verifyHash(imported, decomposed), 'imported ones of the text as it was sent')
  t.ok(verifyHash(await hash(decomposed, { memoryCost: 64, timeCost: 1 }), decomposed))
})

t.test('what is no hash, or takes too long, matches nothing', async (t) => {
  const rows = [
    '',
    'correct horse',
    '$2a$10$short',
    '$2x$04$CCCCCCCCCCCCCCCCCCCCC.E5YPO9kmyuRGyh0XouQYb4YMJKvyOeW',
    '$2a$31$CCCCCCCCCCCCCCCCCCCCC.E5YPO9kmyuRGyh0XouQYb4YMJKvyOeW',
    '$argon2d$v=19$m=64,t=1,p=1$c2FsdHNhbHQ$aGFzaGhhc2g',
    '$argon2id$v=19$m=9999999,t=1,p=1$c2FsdHNhbHQ$aGFzaGhhc2g',
    '$argon2id$v=19$m=64,t=99,p=1$c2FsdHNhbHQ$aGFzaGhhc2g',
    firebase.replace('n=14', 'n=30'),
    firebase.replace('v=1,', 'v=2,'),
  ]
  for (const text of rows) {
    t.notOk(isPasswordHash(text), text)
    t.notOk(verifyHash(text, 'correct horse'), text)
  }
})

t.test('an account without a password, or with a broken hash, rejects every password', async (t) => {
  const { verify } = createPasswords().for({ network: '192.0.2.1', isGone: false, onGone: () => () => undefined })
  t.notOk(await verify(undefined, 'correct horse'))
  t.notOk(await verify('!', 'correct horse'))
  t.ok(await verify(own, 'correct horse'))
  t.ok(await verify(await bcrypt('correct horse', 4), 'correct horse'))
})
