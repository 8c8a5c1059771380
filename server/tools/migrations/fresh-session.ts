// A session in which a file runs as in a new one.
import type { Client } from '../../postgres/connection/client.ts'

/** Runs a file with the settings that a new session has, and restores those that this one began with. */
export async function inFreshSession(
  client: Client,
  onNotice: ((message: string) => void) | undefined,
  run: () => Promise<void>,
): Promise<void> {
  const listener = ({ message }: { message?: string | undefined }): void => onNotice?.(message ?? '')
  const reset = 'reset session authorization; reset role; reset all'
  // The splitting of statements depends on this setting, whose other value is for databases of the last century.
  await client.query(`${reset}; ${setNewDefaults}; set standard_conforming_strings to on`)
  client.on('notice', listener)
  try {
    await run()
  } finally {
    client.off('notice', listener)
    // Fails only if the connection is lost, which the error of the file says.
    await client.query(reset).catch(() => undefined)
  }
}

/**
 * Applies `alter database … set` and `alter role … set` of earlier files, and of the server's migrations, to a session that is
 * older. Connection options take precedence, as they do at a start.
 */
const setNewDefaults = `
  select pg_catalog.set_config(name, value, false) from (
    select distinct on (name) name, value from (
      select s.setrole, s.setdatabase, split_part(c, '=', 1) as name, substr(c, strpos(c, '=') + 1) as value
      from pg_catalog.pg_db_role_setting s, unnest(s.setconfig) as c
      where s.setdatabase in (0, (select oid from pg_catalog.pg_database where datname = current_database()))
        and s.setrole in (0, (select oid from pg_catalog.pg_roles where rolname = session_user))
    ) as given
    where strpos(name, '.') > 0
      or exists (select from pg_catalog.pg_settings p where p.name = given.name and context = 'user' and source <> 'client')
    order by name, setrole <> 0 desc, setdatabase <> 0 desc
  ) as newest`
