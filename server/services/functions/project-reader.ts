// The functions as they are now: read again after a change, so that calls in progress keep those that they began with.
import { createHash } from 'node:crypto'
import { lazy } from '../../common/lazy.ts'
import { functionEnvironment, type ServerVariables } from './function-environment.ts'
import { readFunctionProject, type FunctionDefinition, type FunctionProject } from './function-project.ts'
import type { FunctionSource } from './runtime/function-source.ts'

export type ProjectReaderOptions = {
  /** Absolute path of the folder of functions; undefined without one. Rejects when the settings name none that exists. */
  readonly findFolder: () => Promise<string | undefined>
  /** Absolute path of the working folder. */
  readonly workingFolder: string
  /** Variables of the server, for `env(NAME)` in `config.toml`. */
  readonly env: Readonly<Record<string, string | undefined>>
  readonly variables: () => Promise<ServerVariables>
  /** Whether each call looks for changes, as in development. */
  readonly followsChanges: boolean
  /** Receives sentences for the log, each once. */
  readonly warn: (message: string) => void
  /** Receives the error of reading again, after which the functions stay as they were. */
  readonly onError: (error: unknown) => void
}

/** A project without a folder has no functions. */
type Read = FunctionProject | undefined

export class ProjectReader {
  readonly #options: ProjectReaderOptions
  readonly #warned = new Set<string>()
  #read: () => Promise<Read>
  #last: Read

  constructor(options: ProjectReaderOptions) {
    this.#options = options
    this.#read = lazy(() => this.#readFiles())
  }

  /** @throws FunctionProjectError, ProjectError */
  async project(): Promise<FunctionProject | undefined> {
    if (this.#options.followsChanges) return this.#readFiles()
    return this.#read()
  }

  /** Reads the files again at the next call. Functions that cannot be read then stay as they are. */
  reload(): void {
    this.#read = lazy(async () => {
      try {
        return await this.#readFiles()
      } catch (error) {
        if (!this.#last) throw error
        this.#options.onError(error)
        return this.#last
      }
    })
  }

  /** A function of the project for the runtime. */
  async source({ name, entrypoint, importMap }: FunctionDefinition, project: FunctionProject): Promise<FunctionSource> {
    const environment = functionEnvironment(await this.#options.variables(), project.environment)
    return {
      name,
      entrypoint,
      root: project.root,
      ...(importMap === undefined ? {} : { importMap }),
      environment,
      version: createHash('sha256').update(project.version).update(JSON.stringify(environment)).digest('base64url'),
    }
  }

  async #readFiles(): Promise<Read> {
    const { findFolder, workingFolder, env, warn } = this.#options
    const folder = await findFolder()
    const project = folder === undefined ? undefined : await readFunctionProject({ folder, workingFolder, env })
    for (const note of project?.notes ?? []) {
      if (!this.#warned.has(note)) warn(note)
      this.#warned.add(note)
    }
    return (this.#last = project)
  }
}
