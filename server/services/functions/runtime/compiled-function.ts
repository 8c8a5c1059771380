// A function whose code is in a file.
import { compile } from './bundle/compile.ts'
import type { FunctionSource } from './function-source.ts'
import { writeWholeFile } from './whole-file.ts'

export type CompiledFunction = {
  readonly source: FunctionSource
  readonly path: string
  /** Folders of packages that are elsewhere, as in a project with several packages. */
  readonly linked: readonly string[]
  readonly warnings: readonly string[]
}

/**
 * Compiles a function to a file.
 *
 * @throws FunctionFailure `boot`
 */
export async function compileTo(source: FunctionSource, path: string): Promise<CompiledFunction> {
  const { code, ...rest } = await compile(source, path)
  await writeWholeFile(path, code)
  return { source, path, ...rest }
}
