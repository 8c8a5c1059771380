// The folder with the code and the sockets of workers, which only this user can open.
import { mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { childProgram } from '../../background/process.ts'
import { compileProgram } from './bundle/compile.ts'

const prefix = 'rowhouse-functions-'

/** Whether a process of this machine runs. */
function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}

/** Removes the folders of servers that were killed. */
async function removeAbandoned(): Promise<void> {
  const names = (await readdir(tmpdir())).filter((name) => name.startsWith(prefix))
  const abandoned = names.filter(
    (name) => !isRunning(Number(/^\d+/.exec(name.slice(prefix.length))?.[0] ?? process.pid)),
  )
  await Promise.all(
    abandoned.map((name) => rm(join(tmpdir(), name), { recursive: true, force: true }).catch(() => undefined)),
  )
}

export class WorkerFolder {
  readonly path: string
  /** Path of the program of workers. */
  readonly program: string
  #files = 0

  private constructor(path: string) {
    this.path = path
    this.program = join(path, 'worker.mjs')
  }

  /** Creates the folder with the program. */
  static async create(): Promise<WorkerFolder> {
    await removeAbandoned()
    await mkdir(tmpdir(), { recursive: true })
    const folder = new WorkerFolder(await mkdtemp(join(tmpdir(), `${prefix}${process.pid}-`)))
    await writeFile(folder.program, await compileProgram(childProgram(import.meta.url, './worker/main')), {
      mode: 0o600,
    })
    return folder
  }

  /** A path that no other file has. The path of a socket must be shorter than 100 bytes. */
  newPath(suffix: string): string {
    return join(this.path, `${++this.#files}${suffix}`)
  }

  remove(): Promise<void> {
    return rm(this.path, { recursive: true, force: true })
  }
}
