// The `Prefer` header. RFC 7240; https://docs.postgrest.org/en/v14/references/api/preferences.html

export type Preferences = {
  readonly resolution?: 'merge-duplicates' | 'ignore-duplicates'
  readonly representation?: 'representation' | 'minimal' | 'headers-only'
  readonly count?: 'exact' | 'planned' | 'estimated'
  readonly transaction?: 'commit' | 'rollback'
  readonly missing?: 'default' | 'null'
  readonly handling?: 'strict' | 'lenient'
  readonly timezone?: string
  readonly maxAffected?: number
  /** Preferences that are not known, in the order of the header. */
  readonly invalid: readonly string[]
}

/** The `Preference-Applied` header for preferences that were heeded; undefined when there is none. */
export function preferenceApplied(preferences: Preferences): string | undefined {
  const { resolution, missing, representation, count, transaction, handling, timezone, maxAffected } = preferences
  const applied = [
    resolution && `resolution=${resolution}`,
    missing && `missing=${missing}`,
    representation && `return=${representation}`,
    count && `count=${count}`,
    transaction && `tx=${transaction}`,
    handling && `handling=${handling}`,
    timezone === undefined ? undefined : `timezone=${timezone}`,
    handling === 'strict' && maxAffected !== undefined ? `max-affected=${maxAffected}` : undefined,
  ].filter((text) => text !== undefined)
  return applied.length === 0 ? undefined : applied.join(', ')
}
