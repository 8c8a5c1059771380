// Parts of GoTrue that this service does not have. They respond as in a GoTrue where they are not enabled.
import { AuthError } from './auth-error.ts'
import { defineAuthRoute, type AuthRoute } from './auth-route.ts'

type Method = AuthRoute['method']

const refused = (code: string, message: string, routes: readonly (readonly [Method, string])[]): readonly AuthRoute[] =>
  routes.map(([method, path]) =>
    defineAuthRoute({
      method,
      path,
      id: `authRefused ${method} ${path}`,
      summary: message,
      caller: 'anyone',
      success: [404, message],
      hidden: true,
      handler: () => {
        throw new AuthError(404, code, message)
      },
    }),
  )

export const refusedRoutes: readonly AuthRoute[] = [
  ...refused('passkey_disabled', 'Passkeys are disabled', [
    ['post', '/passkeys/authentication/options'],
    ['post', '/passkeys/authentication/verify'],
    ['post', '/passkeys/registration/options'],
    ['post', '/passkeys/registration/verify'],
    ['get', '/passkeys'],
    ['patch', '/passkeys/{id}'],
    ['delete', '/passkeys/{id}'],
  ]),
  ...refused('saml_provider_disabled', 'SAML 2.0 is disabled', [
    ['post', '/sso'],
    ['get', '/sso/saml/metadata'],
    ['post', '/sso/saml/acs'],
  ]),
  ...refused('feature_disabled', 'OAuth server is disabled', [
    ['get', '/.well-known/oauth-authorization-server'],
    ['get', '/oauth/authorize'],
    ['post', '/oauth/token'],
    ['get', '/oauth/userinfo'],
    ['post', '/oauth/clients/register'],
    ['get', '/oauth/authorizations/{id}'],
    ['post', '/oauth/authorizations/{id}/consent'],
    ['get', '/user/oauth/grants'],
    ['delete', '/user/oauth/grants'],
    ['get', '/admin/oauth/clients'],
    ['post', '/admin/oauth/clients'],
    ['get', '/admin/oauth/clients/{id}'],
    ['put', '/admin/oauth/clients/{id}'],
    ['delete', '/admin/oauth/clients/{id}'],
    ['post', '/admin/oauth/clients/{id}/regenerate_secret'],
  ]),
]
