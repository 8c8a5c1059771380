// TypeScript types of the database, as `rowhouse types` prints them.
import type { ConsoleSchema } from '../../../services/console/schema-protocol.ts'
import { consoleApi } from '../../api.ts'
import { Loading, Problem, Snippet, useLoaded } from '../../parts.tsx'
import { href } from '../../router.ts'
import { typesOf } from './examples.ts'

type GeneratedTypes = { readonly types: string }

const load = (schemas: readonly string[]): Promise<GeneratedTypes> =>
  consoleApi<GeneratedTypes>(`types?schemas=${encodeURIComponent(schemas.join(','))}`)

/** The types of one relation or function. */
export function TypesOf({ path, schema }: { readonly path: readonly string[]; readonly schema: string }) {
  const { value, error } = useLoaded(() => load([schema]), [schema])
  if (!value) return error === undefined ? <Loading /> : <Problem error={error} />
  const part = typesOf(value.types, path)
  return (
    <>
      {part !== undefined && <Snippet text={part} />}
      <a href={href(['api', 'types'])}>All types</a>
    </>
  )
}

export function TypesPage({ all: { exposed } }: { readonly all: ConsoleSchema }) {
  const { value, error } = useLoaded(() => load(exposed), [])
  return (
    <>
      <header class="table-head">
        <a class="back" href={href(['api'])}>
          API
        </a>
        <h1>TypeScript types</h1>
      </header>
      <p>
        For <code>{'createClient<Database>(…)'}</code> of supabase-js. To keep a file up to date:
      </p>
      <Snippet text="rowhouse types --watch --output database.types.ts" />
      <Problem error={error} />
      {value ? <Snippet text={value.types} label="Copy all" /> : error === undefined && <Loading />}
    </>
  )
}
