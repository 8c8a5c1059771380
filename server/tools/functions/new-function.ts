// Creates the folder of a new function.
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { functionName } from '../../services/functions/function-project.ts'
import { CommandError } from '../command-line/command-error.ts'

const template = (
  name: string,
): string => `// Called with supabase.functions.invoke('${name}', { body: { name: 'Ada' } })
const corsHeaders = {
  'Access-Control-Allow-Origin': '*',
  'Access-Control-Allow-Headers': 'authorization, x-client-info, apikey, content-type',
}

Deno.serve(async (request: Request) => {
  // Pages of other origins ask before they call.
  if (request.method === 'OPTIONS') return new Response('ok', { headers: corsHeaders })
  const { name } = await request.json()
  return Response.json({ message: \`Hello \${name}!\` }, { headers: corsHeaders })
})
`

/**
 * Creates `NAME/index.ts`.
 *
 * @param folder of functions, created if it does not exist
 * @returns the path of the file
 * @throws CommandError for a name that functions cannot have, or one that exists
 */
export async function createFunction(folder: string, name: string): Promise<string> {
  if (!functionName.test(name)) {
    throw new CommandError(
      `${JSON.stringify(name)} is no name of a function: names have letters, digits, - and _, and begin with a letter.`,
    )
  }
  const path = join(folder, name, 'index.ts')
  await mkdir(join(folder, name), { recursive: true })
  try {
    // Never replaces a file.
    await writeFile(path, template(name), { flag: 'wx' })
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
    throw new CommandError(`There is a function of this name: ${path}`)
  }
  return path
}
