// Accounts that are created with their first code: sign-in by mail or phone without a password, invitations.
import { randomUUID } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import { authErrors } from '../auth-error.ts'
import type { AuthContext } from '../auth-context.ts'
import { draftUser } from '../draft-user.ts'
import { audienceOf, originOf } from '../request-origin.ts'
import type { FlowOptions, Settled } from './code-flows.ts'
import type { CodePurpose, Issued, NewAccount } from './one-time-codes.ts'

export type NewAddress = { readonly email: string } | { readonly phone: string }

export type AccountParts = {
  readonly address: NewAddress
  /** `user_metadata` as JSON text; null for none. */
  readonly data: string | null
  readonly passwordHash?: string | null
  /** Whether the address needs no confirmation. */
  readonly confirmed?: boolean
}

type CreationOptions = Omit<FlowOptions, 'request'> & {
  /** Whether there was no such account a moment ago. */
  readonly isNew: boolean
}

/**
 * Creates an account unless there is one, issues a code for it, and calls the hooks of sign-up.
 *
 * @throws AuthError 429; the error of a hook
 */
export async function issueToNewAccount(
  context: AuthContext,
  request: IncomingMessage,
  purpose: CodePurpose,
  account: AccountParts,
  { isLimited = true, ...options }: CreationOptions & { readonly isLimited?: boolean },
): Promise<Settled> {
  const issue = (): Promise<Issued> => createWithCode(context, request, purpose, account, options)
  return isLimited ? context.codeFlows.counted(purpose, issue) : refuseWait(await issue())
}

/**
 * The same for a mail or message that the caller counts.
 *
 * @throws the error of a hook
 */
export async function createWithCode(
  context: AuthContext,
  request: IncomingMessage,
  purpose: CodePurpose,
  { address, data, passwordHash = null, confirmed = false }: AccountParts,
  options: CreationOptions,
): Promise<Issued> {
  const { hooks, settings, codeFlows } = context
  const current = settings()
  const account: NewAccount = {
    id: randomUUID(),
    passwordHash,
    data: data ?? '{}',
    aud: audienceOf(request, current),
    role: current.authJwtDefaultGroupName,
    confirmed,
  }
  const { ip } = originOf(request, context)
  const { beforeUserCreated } = hooks
  if (options.isNew && beforeUserCreated) {
    const provider = 'email' in address ? 'email' : 'phone'
    const { id, aud: audience, data: metadata } = account
    await beforeUserCreated(draftUser({ id, provider, ...address, audience, metadata }), { ip })
  }
  const codeRequest = codeFlows.request(purpose, address, { request, ...options })
  const { isNew, issued } = await codeFlows.codes.issueToNewAccount(codeRequest, account)
  if (isNew && issued.status === 'sent') await hooks.afterUserCreated?.(issued.user, { ip })
  return issued
}

/** Links that the service does not send have no limits. */
function refuseWait(issued: Issued): Settled {
  if (issued.status === 'wait') throw authErrors.unexpected(new Error('a link without limits had to wait'))
  return issued
}
