// Where a hook is: a Postgres function, or an HTTP endpoint with the keys that sign the calls.
import type { QualifiedIdentifier } from '../../../catalogue/identifier.ts'
import { webhookKey, type WebhookKey } from '../../outgoing/webhook-signature.ts'
import type { HookName, HookSettings } from '../settings.ts'

export type PostgresHookTarget = { readonly kind: 'postgres'; readonly function: QualifiedIdentifier }
export type HttpHookTarget = { readonly kind: 'http'; readonly url: string; readonly keys: readonly WebhookKey[] }
export type HookTarget = PostgresHookTarget | HttpHookTarget

/** A setting of a hook is invalid. The message names its environment variable. */
export class HookSettingError extends Error {}

const functionName = /^[a-zA-Z_][a-zA-Z0-9_]{0,62}$/
/** Hosts that plain HTTP may be used for: this machine, and the machine of a container. */
const plainHosts: ReadonlySet<string> = new Set(['localhost', '127.0.0.1', '[::1]', 'host.docker.internal'])

/**
 * The target of `GOTRUE_HOOK_<NAME>_{URI,SECRETS}`.
 *
 * @throws HookSettingError
 */
export function hookTarget(name: HookName, { uri, secrets }: HookSettings): HookTarget {
  const variable = `GOTRUE_HOOK_${name.toUpperCase()}`
  const url = URL.canParse(uri) ? new URL(uri) : undefined
  switch (url?.protocol) {
    case 'pg-functions:':
      return { kind: 'postgres', function: functionOf(url, `${variable}_URI`) }
    case 'http:':
      if (!plainHosts.has(url.hostname)) {
        throw new HookSettingError(`${variable}_URI must use https, except on this machine`)
      }
      break
    case 'https:':
      break
    default:
      throw new HookSettingError(`${variable}_URI must be pg-functions://postgres/schema/function or an https URL`)
  }
  const keys = secrets.map((secret) => {
    // As GoTrue writes them, with the version of the signature.
    const key = secret.startsWith('v1,') ? webhookKey(secret.slice(3)) : undefined
    if (!key) throw new HookSettingError(`${variable}_SECRETS must have the form v1,whsec_<base64>, separated by |`)
    return key
  })
  return { kind: 'http', url: url.href, keys }
}

/** `pg-functions://postgres/schema/function` */
function functionOf({ pathname }: URL, variable: string): QualifiedIdentifier {
  const [, schema = '', name = ''] = pathname.split('/')
  if (!functionName.test(schema) || !functionName.test(name)) {
    throw new HookSettingError(`${variable} must name a schema and a function: pg-functions://postgres/schema/function`)
  }
  return { schema, name }
}
