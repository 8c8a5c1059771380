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
