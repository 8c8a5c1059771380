// The hash of an account's password.
import { JsonStatement } from '../../postgres/json-statement.ts'
import type { StoredHash } from '../accounts/rehash.ts'
import type { AuthDatabase } from './auth-database.ts'

const find = new JsonStatement('select to_json(encrypted_password) from auth.users where id = $1', {
  access: 'read',
  hasNoEffect: true,
})
const replace = new JsonStatement('select to_json(auth.rehash_password($1, $2, $3))', { access: 'write' })

export const storedHashOf = (database: Pick<AuthDatabase, 'ask'>, userId: string): StoredHash => ({
  replace: async (old, replacement) => (await database.ask(replace, [userId, old, replacement]))[0] === true,
  find: async () => {
    const [stored] = await database.ask(find, [userId])
    return typeof stored === 'string' ? stored : undefined
  },
})
