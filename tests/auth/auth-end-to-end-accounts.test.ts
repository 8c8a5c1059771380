// What the pages of an application do with `supabase.auth` for accounts: another address, identities of providers, phone
// numbers, second factors.
import t from 'tap'
import { newAddress, password } from '../support/auth.ts'
import { notesProject } from '../support/notes-project.ts'
import { browse } from '../support/oidc-provider.ts'
import { dataOf, follow, fragmentOf } from '../support/page-client.ts'
import { codeOfApp, wrongCode } from '../support/second-factor.ts'
import { site, startSignInService } from '../support/sign-in-page.ts'

const { ask, page, signedUp, sink, smsCode } = await startSignInService(t, notesProject)
const expired = { status: 403, code: 'otp_expired', message: 'Token has expired or is invalid' }

t.test('a new address, confirmed from both mailboxes', async (t) => {
  const { page: own, email } = await signedUp()
  const { email: taken } = await signedUp()
  t.match((await own.auth.updateUser({ email: taken })).error, { status: 422, code: 'email_exists' })
  const next = newAddress()
  t.match(dataOf(await own.auth.updateUser({ email: next })).user, { email, new_email: next })
  const [oldMail, newMail] = [await sink.next(email), await sink.next(next)]
  const half = await own.auth.verifyOtp({ type: 'email_change', email, token: oldMail.code })
  t.equal(half.error, null)
  t.equal(half.data.session, null)
  t.equal(dataOf(await own.auth.getUser()).user.email, email, 'one mailbox is not enough')
  t.match(fragmentOf(await follow(newMail.link)), { access_token: String, type: 'email_change' })
  t.match(dataOf(await own.auth.getUser()).user, { email: next, identities: [{ email: next }] })
  dataOf(await page().auth.signInWithPassword({ email: next, password }))
})

t.test('an anonymous user who becomes a permanent one', async (t) => {
  const guest = page()
  const { user } = dataOf(await guest.auth.signInAnonymously({ options: { data: { theme: 'dark' } } }))
  t.match(user, { is_anonymous: true, email: '', user_metadata: { theme: 'dark' }, app_metadata: {} })
  t.match((await guest.auth.getClaims()).data?.claims, { is_anonymous: true, amr: [{ method: 'anonymous' }] })
  t.equal((await guest.from('notes').insert({ text: 'first' })).error, null)
  t.match((await guest.auth.updateUser({ password })).error, { status: 422 })
  const email = newAddress()
  dataOf(await guest.auth.updateUser({ email }))
  const { code } = await sink.next(email)
  dataOf(await guest.auth.verifyOtp({ type: 'email_change', email, token: code }))
  t.match(dataOf(await guest.auth.updateUser({ password })).user, { id: user?.id, email, is_anonymous: false })
  const back = page()
  t.match(dataOf(await back.auth.signInWithPassword({ email, password })).user, {
    id: user?.id,
    app_metadata: { provider: 'email', providers: ['email'] },
  })
  t.strictSame((await back.from('notes').select('text')).data, [{ text: 'first' }])
})

t.test('sign-in with a provider, linking and unlinking', async (t) => {
  const options = (who: string) => ({
    redirectTo: `${site}/in`,
    skipBrowserRedirect: true,
    queryParams: { login_hint: who },
  })
  const { auth } = page({ flowType: 'pkce' })
  const go = async (who: string): Promise<URL> =>
    browse(dataOf(await auth.signInWithOAuth({ provider: 'custom:acme', options: options(who) })).url, `${site}/in`)
  const code = (await go('ann')).searchParams.get('code') ?? ''
  const { session } = dataOf(await auth.exchangeCodeForSession(code))
  t.match(session, {
    provider_token: String,
    user: {
      email: 'ann@acme.test',
      app_metadata: { provider: 'acme', providers: ['acme'] },
      user_metadata: { full_name: 'Ann', avatar_url: 'https://acme.test/ann.png' },
      identities: [{ provider: 'acme', id: 'ann' }],
    },
  })
  t.match((await auth.getClaims()).data?.claims.amr, [{ method: 'oauth', timestamp: Number }])
  t.match(Object.fromEntries((await go('nobody')).searchParams), { error: 'access_denied' })
  const unknown = await ask('GET', '/authorize?provider=google')
  t.match(unknown, { status: 400, body: { msg: 'Unsupported provider: provider is not enabled' } })
  t.match((await auth.unlinkIdentity(session.user.identities?.[0] as never)).error, {
    status: 422,
    code: 'single_identity_not_deletable',
  })

  const own = page({ flowType: 'pkce' })
  const { email } = await signedUp(own)
  const linking = dataOf(await own.auth.linkIdentity({ provider: 'custom:acme', options: options('bob') }))
  const linked = await browse(linking.url ?? '', `${site}/in`)
  dataOf(await own.auth.exchangeCodeForSession(linked.searchParams.get('code') ?? ''))
  const { identities } = dataOf(await own.auth.getUserIdentities())
  t.strictSame(identities.map(({ provider }) => provider).sort(), ['acme', 'email'])
  const identity = identities.find(({ provider }) => provider === 'acme')
  if (!identity) throw new Error('not linked')
  t.equal((await own.auth.unlinkIdentity(identity)).error, null)
  t.match(dataOf(await own.auth.getUser()).user, { email, identities: [{ provider: 'email' }] })
  t.equal(dataOf(await own.auth.getUser()).user.identities?.length, 1)
})

t.test('sign-in by phone', async (t) => {
  const { auth } = page()
  const phone = '15552340001'
  t.match((await auth.signInWithOtp({ phone: '12ab' })).error, { status: 400, code: 'validation_failed' })
  dataOf(await auth.signInWithOtp({ phone: `+${phone}` }))
  const code = await smsCode(phone)
  t.match((await auth.verifyOtp({ type: 'sms', phone, token: code === '111111' ? '222222' : '111111' })).error, expired)
  const { user } = dataOf(await auth.verifyOtp({ type: 'sms', phone, token: code }))
  t.match(user, { phone, phone_confirmed_at: String, app_metadata: { provider: 'phone', providers: ['phone'] } })
  const other = '15552340002'
  t.match(dataOf(await page().auth.signUp({ phone: other, password })), { session: null, user: { phone: other } })
  t.match((await page().auth.signInWithPassword({ phone: other, password })).error, { code: 'phone_not_confirmed' })
  dataOf(await page().auth.verifyOtp({ type: 'sms', phone: other, token: await smsCode(other) }))
  t.equal(dataOf(await page().auth.signInWithPassword({ phone: other, password })).user.phone, other)
  const next = '15552340003'
  t.match(dataOf(await auth.updateUser({ phone: next })).user, { phone, new_phone: next })
  dataOf(await auth.verifyOtp({ type: 'phone_change', phone: next, token: await smsCode(next) }))
  t.equal(dataOf(await auth.getUser()).user.phone, next)
})

t.test('a second factor', async (t) => {
  const { page: own, email } = await signedUp()
  const { mfa } = own.auth
  const factor = dataOf(await mfa.enroll({ factorType: 'totp', friendlyName: 'phone', issuer: 'App' }))
  t.match(factor, { type: 'totp', friendly_name: 'phone', totp: { secret: /^[A-Z2-7]{32}$/ } })
  t.match(factor.totp.uri, /^otpauth:\/\/totp\/App:.*secret=/)
  t.match(factor.totp.qr_code, /^data:image\/svg\+xml;utf-8,<svg/)
  const same = await mfa.enroll({ factorType: 'totp', friendlyName: 'phone' })
  t.match(same.error, { status: 422, code: 'mfa_factor_name_conflict' })
  const challenge = dataOf(await mfa.challenge({ factorId: factor.id }))
  t.match(challenge, { type: 'totp', expires_at: Number })
  const answer = { factorId: factor.id, challengeId: challenge.id }
  t.match((await mfa.verify({ ...answer, code: wrongCode(factor.totp) })).error, { code: 'mfa_verification_failed' })
  const verified = dataOf(await mfa.verify({ ...answer, code: codeOfApp(factor.totp) }))
  t.match(verified, { token_type: 'bearer', user: { factors: [{ id: factor.id, status: 'verified' }] } })
  t.match(dataOf(await mfa.getAuthenticatorAssuranceLevel()), { currentLevel: 'aal2', nextLevel: 'aal2' })
  t.match((await own.auth.getClaims()).data?.claims, { aal: 'aal2', amr: [{ method: 'totp' }, { method: 'otp' }] })
  const low = page()
  dataOf(await low.auth.signInWithPassword({ email, password }))
  t.match(dataOf(await low.auth.mfa.getAuthenticatorAssuranceLevel()), { currentLevel: 'aal1', nextLevel: 'aal2' })
  t.match((await low.auth.updateUser({ password: 'stolen password' })).error, { status: 401, code: 'insufficient_aal' })
  t.match((await low.auth.mfa.unenroll({ factorId: factor.id })).error, { status: 422, code: 'insufficient_aal' })
  t.match((await low.auth.mfa.challenge({ factorId: crypto.randomUUID() })).error, { code: 'mfa_factor_not_found' })
  t.strictSame(dataOf(await mfa.unenroll({ factorId: factor.id })), { id: factor.id })
  dataOf(await own.auth.refreshSession())
  t.match(dataOf(await mfa.getAuthenticatorAssuranceLevel()), { currentLevel: 'aal1', nextLevel: 'aal1' })
  t.strictSame(dataOf(await mfa.listFactors()).all, [])
})
