// The parts of the generated source that do not depend on the database, apart from the list of enum values.
import { openObject, property, quoted, type Member } from './source.ts'

/** supabase-js switches features on for versions that begin with 13 or 14. This one is the current one of Supabase. */
const postgrestVersion = '14.5'

/** The first member of the type `Database`, which `createClient` reads. */
export const internals: readonly Member[] = [
  {
    comments: [
      '// Allows to automatically instantiate createClient with right options',
      "// instead of createClient<Database, { PostgrestVersion: 'XX' }>(URL, KEY)",
    ],
  },
  property('__InternalSupabase', openObject([property('PostgrestVersion', quoted(postgrestVersion))])),
]

export const jsonType = `export type Json =
  | string
  | number
  | boolean
  | null
  | { [key: string]: Json | undefined }
  | Json[]`

type Helper = {
  readonly name: string
  /** The type parameters: a name in the default schema or options, and a name in the schema of the options. */
  readonly parameters: readonly [string, string]
  /** The groups of a schema that contain the names. */
  readonly groups: readonly string[]
  /** The member whose type is inferred, and the variable for it; without it, the type is that of the name. */
  readonly inferred?: readonly [string, string]
}

/** A helper type, which takes a name in the default schema, or a schema and a name in it. */
function helper({ name, parameters: [first, second], groups, inferred }: Helper): string {
  const other = `DatabaseWithoutInternals[${first}["schema"]]`
  // The members of a schema. Two groups take two lines, the second of them with a margin.
  const members = (schema: string, margin: string): string => {
    const [only = '', ...more] = groups.map((group) => `${schema}["${group}"]`)
    return more.length === 0 ? only : `(${[only, ...more].join(` &\n${margin}`)})`
  }
  const value = (member: string, margin: string): string => {
    if (!inferred) return member
    const [property, variable] = inferred
    const lines = [`  ${property}: infer ${variable}`, '}', `? ${variable}`, ': never']
    return [`${member} extends {`, ...lines.map((text) => `${margin}${text}`)].join('\n')
  }
  const inDefault = groups.map((group) => `DefaultSchema["${group}"]`).join(' & ')
  const names = groups.length === 1 ? inDefault : `(${inDefault})`
  return `export type ${name}<
  ${first} extends
    | keyof ${names}
    | { schema: keyof DatabaseWithoutInternals },
  ${second} extends ${first} extends {
    schema: keyof DatabaseWithoutInternals
  }
    ? keyof ${members(other, '        ')}
    : never = never,
> = ${first} extends {
  schema: keyof DatabaseWithoutInternals
}
  ? ${value(`${members(other, '      ')}[${second}]`, '    ')}
  : ${first} extends keyof ${members('DefaultSchema', '        ')}
    ? ${value(`${members('DefaultSchema', '        ')}[${first}]`, '      ')}
    : never`
}

const tables = ['DefaultSchemaTableNameOrOptions', 'TableName'] as const

/** The types `Tables`, `TablesInsert`, `TablesUpdate`, `Enums` and `CompositeTypes`. */
export const helperTypes: readonly string[] = [
  'type DatabaseWithoutInternals = Omit<Database, "__InternalSupabase">',
  'type DefaultSchema = DatabaseWithoutInternals[Extract<keyof Database, "public">]',
  helper({ name: 'Tables', parameters: tables, groups: ['Tables', 'Views'], inferred: ['Row', 'R'] }),
  helper({ name: 'TablesInsert', parameters: tables, groups: ['Tables'], inferred: ['Insert', 'I'] }),
  helper({ name: 'TablesUpdate', parameters: tables, groups: ['Tables'], inferred: ['Update', 'U'] }),
  helper({ name: 'Enums', parameters: ['DefaultSchemaEnumNameOrOptions', 'EnumName'], groups: ['Enums'] }),
  helper({
    name: 'CompositeTypes',
    parameters: ['PublicCompositeTypeNameOrOptions', 'CompositeTypeName'],
    groups: ['CompositeTypes'],
  }),
]
