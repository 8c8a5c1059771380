// The functions of the project, and which of them do not compile.
import { FunctionRuntime } from '../../services/functions/runtime/function-runtime.ts'
import { readFunctionProject, type FunctionProject } from '../../services/functions/function-project.ts'
import { FunctionProjectError } from '../../services/functions/project-error.ts'
import { findFunctions, ProjectError } from '../../config/project.ts'
import { CommandError } from '../command-line/command-error.ts'

export type CheckedFunction = {
  readonly name: string
  /** Absolute path. */
  readonly entrypoint: string
  /** Whether calls need a token. */
  readonly verifyJwt: boolean
  /** Why it does not compile: file and line, or the package to install. Null when it compiles. */
  readonly fault: string | null
}

export type CheckedFunctions = {
  /** Absolute path; null if there is no folder. */
  readonly folder: string | null
  readonly functions: readonly CheckedFunction[]
  /** Sentences about what is left out. */
  readonly notes: readonly string[]
}

/**
 * Reads the folder of the settings, and compiles each function without running it.
 *
 * @throws CommandError when the files cannot be read, or the settings name no folder
 */
export async function checkFunctions(
  { functionsDir }: { readonly functionsDir: string | null },
  env: Readonly<Record<string, string | undefined>>,
  workingFolder = process.cwd(),
): Promise<CheckedFunctions> {
  const project = await readProject(functionsDir, env, workingFolder)
  if (!project) return { folder: null, functions: [], notes: [] }
  // Limits concern calls only.
  const runtime = new FunctionRuntime({
    limits: () => {
      throw new Error('no function is called here')
    },
  })
  const functions: CheckedFunction[] = []
  for (const { name, entrypoint, importMap, verifyJwt } of project.functions.values()) {
    const failure = await runtime.check({
      name,
      entrypoint,
      root: project.root,
      ...(importMap === undefined ? {} : { importMap }),
      environment: {},
      version: project.version,
    })
    functions.push({ name, entrypoint, verifyJwt, fault: failure?.detail ?? null })
  }
  return { folder: project.folder, functions, notes: project.notes }
}

async function readProject(
  setting: string | null,
  env: Readonly<Record<string, string | undefined>>,
  workingFolder: string,
): Promise<FunctionProject | undefined> {
  try {
    const folder = await findFunctions(setting, workingFolder)
    return folder === undefined ? undefined : await readFunctionProject({ folder, workingFolder, env })
  } catch (error) {
    if (error instanceof FunctionProjectError || error instanceof ProjectError) {
      throw new CommandError(error.message, { cause: error })
    }
    throw error
  }
}
