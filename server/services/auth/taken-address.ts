// Whether an address belongs to an account already.
import { JsonStatement } from '../../postgres/json-statement.ts'
import { nilUuid } from '../../text/uuid.ts'
import type { AuthDatabase } from './auth-database.ts'

const taken = new JsonStatement('select to_json(auth.is_taken($1, $2, $3))', { access: 'read', hasNoEffect: true })

/** @param exceptFor id of the account that may have the address */
export async function isTaken(
  database: Pick<AuthDatabase, 'ask'>,
  address: { readonly email: string } | { readonly phone: string },
  exceptFor = nilUuid,
): Promise<boolean> {
  const [email, phone] = 'email' in address ? [address.email, null] : [null, address.phone]
  const [answer] = await database.ask(taken, [email, phone, exceptFor])
  return answer === true
}
