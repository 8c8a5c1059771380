// Volatile functions of PostgreSQL and its extensions whose effects a rollback undoes, or that have none.

export const sequencesAdvance =
  'Sequences advance: numbers that were drawn are not returned, so there are gaps in generated ids.'

/** Effects end with the transaction, or with the connection, which is reset. */
const builtIn: ReadonlySet<string> = new Set([
  'random',
  'random_normal',
  'setseed',
  'gen_random_uuid',
  'uuidv4',
  'uuidv7',
  'clock_timestamp',
  'timeofday',
  'currval',
  'lastval',
  'set_config',
  'pg_notify',
  'pg_sleep',
  'pg_sleep_for',
  'pg_sleep_until',
  'txid_current',
  'pg_current_xact_id',
  'pg_my_temp_schema',
  'pg_backend_pid',
  'pg_lock_status',
  'pg_blocking_pids',
  'pg_safe_snapshot_blocking_pids',
  'pg_isolation_test_session_is_blocked',
  'pg_column_size',
  'pg_database_size',
  'pg_indexes_size',
  'pg_relation_size',
  'pg_table_size',
  'pg_tablespace_size',
  'pg_total_relation_size',
  'pg_relation_filenode',
  'pg_relation_filepath',
  'currtid2',
  'tsvector_update_trigger',
  'tsvector_update_trigger_column',
  'suppress_redundant_updates_trigger',
  'unique_key_recheck',
  'trigger_in',
  'event_trigger_in',
  'pg_event_trigger_ddl_commands',
  'pg_event_trigger_dropped_objects',
  'pg_event_trigger_table_rewrite_oid',
  'pg_event_trigger_table_rewrite_reason',
  // Large objects are rows of a table.
  'lo_creat',
  'lo_create',
  'lo_from_bytea',
  'lo_get',
  'lo_put',
  'lo_open',
  'lo_close',
  'lo_lseek',
  'lo_lseek64',
  'lo_tell',
  'lo_tell64',
  'lo_truncate',
  'lo_truncate64',
  'lo_unlink',
  'loread',
  'lowrite',
])

/** Extensions whose volatile functions only draw random values or read statistics. */
const ofExtension: ReadonlySet<string> = new Set([
  'gen_random_bytes',
  'gen_random_uuid',
  'gen_salt',
  'pgp_sym_encrypt',
  'pgp_sym_encrypt_bytea',
  'pgp_pub_encrypt',
  'pgp_pub_encrypt_bytea',
  'uuid_generate_v1',
  'uuid_generate_v1mc',
  'uuid_generate_v4',
  'plpgsql_call_handler',
  'plpgsql_inline_handler',
  'plpgsql_validator',
  'set_limit',
  'digest',
  'hmac',
  'moddatetime',
  'autoinc',
  'insert_username',
  'refint',
])

/**
 * Whether a volatile function has no effect that outlasts a rollback; a sentence if it has a harmless one.
 *
 * @param extension null for a function of PostgreSQL itself
 */
export function isHarmless(name: string, extension: string | null): boolean | string {
  if (extension !== null) return ofExtension.has(name)
  if (name === 'nextval') return sequencesAdvance
  return (
    builtIn.has(name) ||
    /^pg_(?:try_)?advisory_/.test(name) ||
    name.startsWith('pg_stat_get_') ||
    name.startsWith('RI_FKey_')
  )
}
