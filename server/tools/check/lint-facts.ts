// What is the same for all findings of a lint: title, category, and where its documentation is.

export type LintFacts = {
  readonly title: string
  readonly category: 'PERFORMANCE' | 'SECURITY'
  /** Documentation of lints that Supabase has as well; null for those of this program, which this folder's README describes. */
  readonly url: string | null
}

const documentation = 'https://supabase.com/docs/guides/database/database-linter?lint='

const supabase = (page: string, category: LintFacts['category'], title: string): LintFacts => ({
  title,
  category,
  url: `${documentation}${page}`,
})

/** A lint of splinter without a page of its own. */
const undocumented = (category: LintFacts['category'], title: string): LintFacts => ({ title, category, url: null })

const security = (title: string): LintFacts => ({ title, category: 'SECURITY', url: null })
const performance = (title: string): LintFacts => ({ title, category: 'PERFORMANCE', url: null })

/** Lints of https://github.com/supabase/splinter by name, so that their documentation is found. */
export const splinterLints: Readonly<Record<string, LintFacts>> = {
  unindexed_foreign_keys: supabase('0001_unindexed_foreign_keys', 'PERFORMANCE', 'Unindexed foreign keys'),
  auth_users_exposed: supabase('0002_auth_users_exposed', 'SECURITY', 'Exposed Auth Users'),
  auth_rls_initplan: supabase('0003_auth_rls_initplan', 'PERFORMANCE', 'Auth RLS Initialization Plan'),
  no_primary_key: supabase('0004_no_primary_key', 'PERFORMANCE', 'No Primary Key'),
  unused_index: supabase('0005_unused_index', 'PERFORMANCE', 'Unused Index'),
  multiple_permissive_policies: supabase(
    '0006_multiple_permissive_policies',
    'PERFORMANCE',
    'Multiple Permissive Policies',
  ),
  policy_exists_rls_disabled: supabase('0007_policy_exists_rls_disabled', 'SECURITY', 'Policy Exists RLS Disabled'),
  rls_enabled_no_policy: supabase('0008_rls_enabled_no_policy', 'SECURITY', 'RLS Enabled No Policy'),
  duplicate_index: supabase('0009_duplicate_index', 'PERFORMANCE', 'Duplicate Index'),
  security_definer_view: supabase('0010_security_definer_view', 'SECURITY', 'Security Definer View'),
  function_search_path_mutable: supabase(
    '0011_function_search_path_mutable',
    'SECURITY',
    'Function Search Path Mutable',
  ),
  rls_disabled_in_public: supabase('0013_rls_disabled_in_public', 'SECURITY', 'RLS Disabled in Public'),
  extension_in_public: supabase('0014_extension_in_public', 'SECURITY', 'Extension in Public'),
  rls_references_user_metadata: supabase(
    '0015_rls_references_user_metadata',
    'SECURITY',
    'RLS references user metadata',
  ),
  materialized_view_in_api: supabase('0016_materialized_view_in_api', 'SECURITY', 'Materialized View in API'),
  foreign_table_in_api: supabase('0017_foreign_table_in_api', 'SECURITY', 'Foreign Table in API'),
  unsupported_reg_types: supabase('unsupported_reg_types', 'SECURITY', 'Unsupported reg types'),
  insecure_queue_exposed_in_api: supabase(
    '0019_insecure_queue_exposed_in_api',
    'SECURITY',
    'Insecure Queue Exposed in API',
  ),
  table_bloat: undocumented('PERFORMANCE', 'Table Bloat'),
  fkey_to_auth_unique: undocumented('SECURITY', 'Foreign Key to Auth Unique Constraint'),
  extension_versions_outdated: supabase('0022_extension_versions_outdated', 'SECURITY', 'Extension Versions Outdated'),
  sensitive_columns_exposed: supabase('0023_sensitive_columns_exposed', 'SECURITY', 'Sensitive Columns Exposed'),
  rls_policy_always_true: supabase('0024_permissive_rls_policy', 'SECURITY', 'RLS Policy Always True'),
  public_bucket_allows_listing: supabase(
    '0025_public_bucket_allows_listing',
    'SECURITY',
    'Public Bucket Allows Listing',
  ),
  pg_graphql_anon_table_exposed: supabase(
    '0026_pg_graphql_anon_table_exposed',
    'SECURITY',
    'Public Can See Object in GraphQL Schema',
  ),
  pg_graphql_authenticated_table_exposed: supabase(
    '0027_pg_graphql_authenticated_table_exposed',
    'SECURITY',
    'Signed-In Users Can See Object in GraphQL Schema',
  ),
  anon_security_definer_function_executable: supabase(
    '0028_anon_security_definer_function_executable',
    'SECURITY',
    'Public Can Execute SECURITY DEFINER Function',
  ),
  authenticated_security_definer_function_executable: supabase(
    '0029_authenticated_security_definer_function_executable',
    'SECURITY',
    'Signed-In Users Can Execute SECURITY DEFINER Function',
  ),
}

/** Lints that splinter does not have. */
export const ownLints: Readonly<Record<string, LintFacts>> = {
  policy_function_not_executable: security('Policy calls function that its role may not execute'),
  write_policy_looser_than_read: security('Write policy looser than read policy'),
  policy_column_writable: security('Column of a policy can be changed'),
  policy_trusts_unproven_address: security('Policy trusts unproven address'),
  policy_calls_volatile_function: performance('Policy calls volatile function'),
  policy_calls_function_per_row: performance('Policy calls function per row'),
  policy_column_without_index: performance('Column of a policy without index'),
  view_reads_past_policies: security('View reads past policies'),
  view_filter_leaks: security('Filter of a view leaks'),
  trigger_copies_rows: security('Trigger copies rows'),
  definer_function_reads_claims: security('SECURITY DEFINER function reads claims'),
  default_privileges_open_functions: security('Default privileges open functions'),
  exposed_table_without_rls: security('Exposed table without RLS'),
  exposed_relation_without_policies: security('Exposed relation without policies'),
  exposed_view_of_owner: security('Exposed view with the rights of its owner'),
  storage_bucket_listable: security('Storage bucket can be listed'),
  grant_without_policy: security('Grant without policy'),
  definer_function_exposed: security('SECURITY DEFINER function exposed'),
  storage_rls_disabled: security('RLS disabled for storage'),
  storage_policy_without_bucket: security('Storage policy without bucket'),
  realtime_without_rls: security('Changes of a table without RLS'),
  realtime_without_key: performance('Published table without key'),
  realtime_delete_by_key: performance('Deleted rows are logged by their key'),
  realtime_channels_open: security('Private channels open to everyone'),
  webhook_without_tls: security('Rows with policies are sent without TLS'),
  webhook_url_credentials: security('Credentials in the URL of a webhook'),
  missing_table: security('Missing table of a service'),
}

/** The facts of a lint by its name. */
export const factsOf = (code: string): LintFacts => {
  const facts = splinterLints[code] ?? ownLints[code]
  if (!facts) throw new Error(`There is no lint ${code}`)
  return facts
}
