// The bodies of requests for codes.
import { dto } from '../../../http/service-response.ts'

type Text = string | null

/** `schemas/auth-otp-dto.json` */
export type OtpBody = {
  readonly email?: Text
  readonly phone?: Text
  readonly create_user?: boolean | null
  readonly data?: Readonly<Record<string, unknown>> | null
  readonly channel?: Text
  readonly code_challenge?: Text
  readonly code_challenge_method?: Text
}

/** `schemas/auth-recover-dto.json` */
export type RecoverBody = Pick<OtpBody, 'email' | 'code_challenge' | 'code_challenge_method'>

/** `schemas/auth-resend-dto.json` */
export type ResendBody = RecoverBody & { readonly type?: Text; readonly phone?: Text }

/** `schemas/auth-verify-dto.json` */
export type VerifyBody = {
  readonly type?: Text
  readonly email?: Text
  readonly phone?: Text
  readonly token?: Text
  readonly token_hash?: Text
  readonly redirect_to?: Text
}

/** `schemas/auth-invite-dto.json` */
export type InviteBody = { readonly email?: Text; readonly data?: Readonly<Record<string, unknown>> | null }

/** `schemas/auth-generate-link-dto.json` */
export type GenerateLinkBody = InviteBody & {
  readonly type?: Text
  readonly new_email?: Text
  readonly password?: Text
  readonly redirect_to?: Text
}

export const bodies = {
  otp: dto<OtpBody>('AuthOtpDto'),
  recover: dto<RecoverBody>('AuthRecoverDto'),
  resend: dto<ResendBody>('AuthResendDto'),
  verify: dto<VerifyBody>('AuthVerifyDto'),
  invite: dto<InviteBody>('AuthInviteDto'),
  generateLink: dto<GenerateLinkBody>('AuthGenerateLinkDto'),
}
