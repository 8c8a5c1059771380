// The hash of an account's password.
import { JsonStatement } from '../../postgres/json-statement.ts'
import type { StoredHash } from '../accounts/rehash.ts'
import type { AuthDatabase } from './auth-database.ts'

const find = new JsonStatement('select to_json(encrypted_password) from auth.users where id = $1', {
  access: 'read',
  hasNoEffect: true,
})
const replace = new JsonStatement(
  'with changed as (update auth.users set encrypted_password = $3 where id = $1 and encrypted_password = $2 ' +
    'returning 1) select to_json(exists (select from changed))',
  { access: 'write' },
)

export const storedHashOf = (database: Pick<AuthDatabase, 'ask'>, userId: string): StoredHash => ({
  replace: async (old, replacement) => (await database.ask(replace, [userId, old, replacement]))[0] === true,
  find: async () => {
    const [stored] = await database.ask(find, [userId])
    return typeof stored === 'string' ? stored : undefined
  },
})
