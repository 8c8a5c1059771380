// A project of Supabase's command line, which both that program and this one apply to a database.
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import type { Test } from 'tap'
import { rowhouse, type Ran } from '../../support/command.ts'
import type { Installation } from './installation.ts'

export type SupabaseProject = {
  /** The folder in which `supabase` is. */
  readonly folder: string
  /** Runs Supabase's command line in the project. Answers yes to every question. */
  readonly supabase: (args: readonly string[], env?: Readonly<Record<string, string>>) => Promise<Ran>
  /** Runs this program with the project and a database. */
  readonly rowhouse: (args: readonly string[], uri: string) => Promise<Ran>
  /** Writes files, by paths in `supabase`. */
  readonly write: (files: Readonly<Record<string, string>>) => Promise<void>
}

/** The services of a project of Supabase, which have no tables in `public`. */
export const services = { SERVICES: 'rest,auth,storage' }

/** Creates a project with `supabase init` for the duration of a test. */
export async function createProject(
  t: Pick<Test, 'teardown'>,
  { run }: Pick<Installation, 'run'>,
): Promise<SupabaseProject> {
  const folder = await mkdtemp(join(tmpdir(), 'rowhouse-project-'))
  t.teardown(() => rm(folder, { recursive: true, force: true }))
  const supabase: SupabaseProject['supabase'] = async (args, env = {}) => {
    try {
      const quiet = { SUPABASE_TELEMETRY_DISABLED: '1', ...env }
      const { stdout, stderr } = await run('supabase', [...args, '--workdir', folder, '--yes'], quiet)
      return { code: 0, out: stdout, err: stderr }
    } catch (error) {
      const { code, stdout = '', stderr = '' } = error as { code?: number; stdout?: string; stderr?: string }
      return { code: typeof code === 'number' ? code : -1, out: stdout, err: stderr }
    }
  }
  await supabase(['init'])
  const migrations = join(folder, 'supabase/migrations')
  await mkdir(migrations)
  return {
    folder,
    supabase,
    rowhouse: (args, uri) => rowhouse(args, { ...services, DATABASE_URL: uri, MIGRATIONS_DIR: migrations }),
    write: async (files) => {
      for (const [path, text] of Object.entries(files)) {
        await mkdir(dirname(join(folder, 'supabase', path)), { recursive: true })
        await writeFile(join(folder, 'supabase', path), text)
      }
    },
  }
}
