// Parts of GoTrue that this service does not have. They respond as in a GoTrue where they are not enabled.
import type { AuthErrorCode } from './auth-error-codes.ts'
import { AuthError } from './auth-error.ts'
import { defineAuthRoute, type AuthRoute, type CallerKind } from './dialect.ts'

type Method = AuthRoute['method']

/** @param caller who learns why; others are refused for their credentials first */
const refused = (
  code: AuthErrorCode,
  message: string,
  routes: readonly (readonly [Method, string])[],
  caller: CallerKind = 'anyone',
): readonly AuthRoute[] =>
  routes.map(([method, path]) =>
    defineAuthRoute({
      method,
      path,
      id: `authRefused ${method} ${path}`,
      summary: message,
      caller,
      success: [404, message],
      hidden: true,
      handler: () => {
        throw new AuthError(404, code, message)
      },
    }),
  )

const saml = ['saml_provider_disabled', 'SAML 2.0 is disabled'] as const

export const refusedRoutes: readonly AuthRoute[] = [
  ...refused(...saml, [
    ['post', '/sso'],
    ['get', '/sso/saml/metadata'],
    ['post', '/sso/saml/acs'],
  ]),
  ...refused(
    ...saml,
    [
      ['get', '/admin/sso/providers'],
      ['post', '/admin/sso/providers'],
      ['get', '/admin/sso/providers/{id}'],
      ['put', '/admin/sso/providers/{id}'],
      ['delete', '/admin/sso/providers/{id}'],
    ],
    'admin',
  ),
  ...refused(
    'feature_disabled',
    'Custom OAuth providers are disabled',
    [
      ['get', '/admin/custom-providers'],
      ['post', '/admin/custom-providers'],
      ['get', '/admin/custom-providers/{id}'],
      ['put', '/admin/custom-providers/{id}'],
      ['delete', '/admin/custom-providers/{id}'],
    ],
    'admin',
  ),
  ...refused('feature_disabled', 'SCIM server is disabled', [
    ['get', '/scim/v2/ServiceProviderConfig'],
    ['get', '/scim/v2/ResourceTypes'],
    ['get', '/scim/v2/Schemas'],
  ]),
]
