// Settings of `/auth/v1` whose names contain the name of a provider, a hook or a mail.
import type {
  AuthSettingFamilies,
  CustomMailKind,
  HookName,
  HookSettings,
  MailContent,
  ProviderSettings,
} from '../services/auth/settings.ts'
import type { ConfigProblem } from './config-error.ts'
import { boolean } from './number-setting-types.ts'
import { textOf } from './setting-reading.ts'
import type { GivenValue } from './setting.ts'

/** A placeholder of the name, and its description for the guides. */
export type AuthFamily = { readonly variable: string; readonly description: string }

/** The names for the guides. */
export const authFamilies: readonly AuthFamily[] = [
  {
    variable: 'GOTRUE_EXTERNAL_<PROVIDER>_{ENABLED,CLIENT_ID,SECRET,REDIRECT_URI,URL,SKIP_NONCE_CHECK,EMAIL_OPTIONAL}',
    description: 'Sign-in with `google` or any OpenID Connect provider, whose issuer is `URL`.',
  },
  {
    variable: 'GOTRUE_EXTERNAL_APPLE_{KEY_ID,TEAM_ID,PRIVATE_KEY}',
    description: 'Of these, the secret of Apple is made for each sign-in; the key is the contents of `AuthKey_….p8`.',
  },
  {
    variable: 'GOTRUE_HOOK_<NAME>_{ENABLED,URI,SECRETS}',
    description:
      'Hooks `CUSTOM_ACCESS_TOKEN`, `SEND_EMAIL`, `SEND_SMS`, `BEFORE_USER_CREATED`, `AFTER_USER_CREATED`, `MFA_VERIFICATION_ATTEMPT`, `PASSWORD_VERIFICATION_ATTEMPT`: `pg-functions://postgres/schema/function` or an http(s) URL.',
  },
  {
    variable: 'GOTRUE_MAILER_{SUBJECTS,TEMPLATES,URLPATHS}_<KIND>',
    description:
      'Subject, template (URL or file) and path of the link of the mails `INVITE`, `CONFIRMATION`, `RECOVERY`, `EMAIL_CHANGE`, `MAGIC_LINK`, `REAUTHENTICATION`, and of those of `GOTRUE_MAILER_NOTIFICATIONS_…`, such as `PASSKEY_ADDED_NOTIFICATION`.',
  },
]

const hookNames: readonly HookName[] = [
  ...(['custom_access_token', 'send_email', 'send_sms', 'before_user_created', 'after_user_created'] as const),
  ...(['mfa_verification_attempt', 'password_verification_attempt'] as const),
]
const mailKinds: readonly CustomMailKind[] = [
  ...(['invite', 'confirmation', 'recovery', 'email_change', 'magic_link', 'reauthentication'] as const),
  ...(['password_changed_notification', 'email_changed_notification', 'phone_changed_notification'] as const),
  ...(['identity_linked_notification', 'identity_unlinked_notification'] as const),
  ...(['mfa_factor_enrolled_notification', 'mfa_factor_unenrolled_notification'] as const),
  ...(['passkey_added_notification', 'passkey_removed_notification'] as const),
]
/** Not providers: their settings are in the table. */
const ownNames: ReadonlySet<string> = new Set(['email', 'phone', 'anonymous_users'])

const provider =
  /^GOTRUE_EXTERNAL_([A-Z0-9_]+?)_(ENABLED|CLIENT_ID|SECRET|REDIRECT_URI|URL|SKIP_NONCE_CHECK|EMAIL_OPTIONAL|KEY_ID|TEAM_ID|PRIVATE_KEY)$/
const hook = /^GOTRUE_HOOK_([A-Z_]+)_(ENABLED|URI|SECRETS)$/
const mail = /^GOTRUE_MAILER_(SUBJECTS|TEMPLATES|URLPATHS)_([A-Z_]+)$/

/** Whether a variable belongs to a provider, a hook or a mail. */
export function isAuthFamily(variable: string): boolean {
  const [, providerName] = provider.exec(variable) ?? []
  if (providerName !== undefined) return !ownNames.has(providerName.toLowerCase())
  const [, hookName] = hook.exec(variable) ?? []
  if (hookName !== undefined) return hookNames.some((name) => name === hookName.toLowerCase())
  const [, , mailKind] = mail.exec(variable) ?? []
  return mailKinds.some((kind) => kind === mailKind?.toLowerCase())
}

/** In the configuration file, names are in lower case and have dashes: `gotrue-external-google-client-id`. */
export const familyVariable = (name: string): string => name.toUpperCase().replaceAll('-', '_')

/** Reads these settings. The environment takes precedence over the file. */
export function readAuthFamilies(
  environment: Readonly<Record<string, string | undefined>>,
  file: ReadonlyMap<string, GivenValue>,
  onProblem: (problem: ConfigProblem) => void,
): AuthSettingFamilies {
  const values = new Map<string, string>()
  for (const [name, value] of file) {
    const variable = familyVariable(name)
    if (isAuthFamily(variable)) values.set(variable, typeof value === 'boolean' ? String(value) : textOf(value))
  }
  for (const [variable, value] of Object.entries(environment)) {
    if (value !== undefined && value !== '' && isAuthFamily(variable)) values.set(variable, value)
  }
  const flag = (variable: string): boolean => {
    const reading = boolean.read(values.get(variable) ?? '')
    if (reading.kind === 'invalid') onProblem({ source: variable, message: reading.message })
    return reading.kind === 'value' && reading.value
  }
  const text = (variable: string): string => values.get(variable) ?? ''
  return {
    authProviders: namesOf(values, provider, 1, (prefix): ProviderSettings => ({
      enabled: flag(`${prefix}_ENABLED`),
      clientIds: splitOn(',', text(`${prefix}_CLIENT_ID`)),
      secret: text(`${prefix}_SECRET`),
      redirectUri: text(`${prefix}_REDIRECT_URI`),
      url: text(`${prefix}_URL`).replace(/\/+$/, ''),
      skipNonceCheck: flag(`${prefix}_SKIP_NONCE_CHECK`),
      emailOptional: flag(`${prefix}_EMAIL_OPTIONAL`),
      keyId: text(`${prefix}_KEY_ID`),
      teamId: text(`${prefix}_TEAM_ID`),
      privateKey: text(`${prefix}_PRIVATE_KEY`),
    })),
    authHooks: namesOf(values, hook, 1, (prefix): HookSettings => ({
      enabled: flag(`${prefix}_ENABLED`),
      uri: checkedUri(text(`${prefix}_URI`), `${prefix}_URI`, onProblem),
      secrets: splitOn('|', text(`${prefix}_SECRETS`)),
    })) as ReadonlyMap<HookName, HookSettings>,
    authMailContents: new Map(
      mailKinds.map((kind): [CustomMailKind, MailContent] => {
        const name = kind.toUpperCase()
        return [
          kind,
          {
            subject: values.get(`GOTRUE_MAILER_SUBJECTS_${name}`) ?? null,
            template: values.get(`GOTRUE_MAILER_TEMPLATES_${name}`) ?? null,
            urlPath: values.get(`GOTRUE_MAILER_URLPATHS_${name}`) ?? null,
          },
        ]
      }),
    ),
  }
}

/** The settings by name in lower case. `read` gets the part of the variables' names before the last word. */
function namesOf<T>(
  values: ReadonlyMap<string, string>,
  pattern: RegExp,
  group: number,
  read: (prefix: string) => T,
): ReadonlyMap<string, T> {
  const found = new Map<string, T>()
  for (const variable of values.keys()) {
    const match = pattern.exec(variable)
    const name = match?.[group]
    const field = match?.[group + 1]
    if (name === undefined || field === undefined || found.has(name.toLowerCase())) continue
    found.set(name.toLowerCase(), read(variable.slice(0, -field.length - 1)))
  }
  return found
}

const splitOn = (separator: string, text: string): string[] =>
  text
    .split(separator)
    .map((part) => part.trim())
    .filter((part) => part !== '')

const hookUri = /^(?:pg-functions:\/\/[^/]+\/[A-Za-z_]\w*\/[A-Za-z_]\w*|https?:\/\/.+)$/

function checkedUri(uri: string, source: string, onProblem: (problem: ConfigProblem) => void): string {
  if (uri !== '' && !hookUri.test(uri)) {
    onProblem({ source, message: 'must be pg-functions://postgres/schema/function, or an http(s) URL' })
  }
  return uri
}
