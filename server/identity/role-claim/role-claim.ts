// The path of the role in a token (`jwt-role-claim-key`): JSONPath, or PostgREST's older syntax.
// https://docs.postgrest.org/en/stable/references/auth.html#jwt-role-extraction
import { select, type JsonPath } from './json-path.ts'
import { parseJsonPath } from './json-path-parser.ts'
import { jsonPathText } from './json-path-text.ts'
import { followLegacyPath, legacyPathText, parseLegacyPath, type LegacyStep } from './legacy-role-path.ts'

/** `text` is the normal form, as PostgREST dumps it. */
export type RoleClaim =
  | { readonly kind: 'json path'; readonly path: JsonPath; readonly text: string }
  | { readonly kind: 'legacy'; readonly steps: readonly LegacyStep[]; readonly text: string }

export type InvalidRoleClaim = { readonly kind: 'invalid'; readonly message: string }

export function parseRoleClaim(text: string): RoleClaim | InvalidRoleClaim {
  const path = parseJsonPath(text)
  if (path) return { kind: 'json path', path, text: jsonPathText(path) }
  const steps = parseLegacyPath(text)
  if (steps) return { kind: 'legacy', steps, text: legacyPathText(steps) }
  return { kind: 'invalid', message: `failed to parse role-claim-key value (${text})` }
}

/** The role in the claims, or undefined. A value other than a string is read as its JSON text, as in PostgREST. */
export function roleInClaims(claim: RoleClaim, claims: unknown): string | undefined {
  const value = claim.kind === 'json path' ? select(claim.path, claims)[0] : followLegacyPath(claim.steps, claims)
  if (value === undefined) return undefined
  return typeof value === 'string' ? value : JSON.stringify(value)
}
