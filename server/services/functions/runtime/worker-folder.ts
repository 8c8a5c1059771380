// The folder with the code and the sockets of workers, which only this user can open.
import { existsSync, rmSync, writeFileSync } from 'node:fs'
import { mkdir, mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { childProgram } from '../../background/process.ts'
import { compileProgram } from './bundle/compile.ts'
import { writeWholeFile } from './whole-file.ts'

const prefix = 'rowhouse-functions-'
/** With the number of the process, and what makes the name unique. */
const folderName = new RegExp(`^${prefix}(\\d+)-\\w{6}$`)

/** Whether a process of this machine runs. */
function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}

/** Kills a worker that a killed server has left: one that computes does not notice the end of the server. */
async function killWorker(folder: string, pid: number): Promise<void> {
  const command = await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '')
  // Another process may have its number by now.
  if (command.includes(folder)) process.kill(pid, 'SIGKILL')
}

async function removeFolder(path: string): Promise<void> {
  const workers = (await readdir(path)).filter((name) => name.endsWith('.pid'))
  await Promise.all(workers.map((name) => killWorker(path, Number.parseInt(name))))
  await rm(path, { recursive: true, force: true })
}

/** Removes what servers have left that were killed. */
async function removeAbandoned(): Promise<void> {
  const abandoned = (await readdir(tmpdir())).filter((name) => {
    const pid = folderName.exec(name)?.[1]
    return pid !== undefined && !isRunning(Number(pid))
  })
  // Those of other users cannot be read.
  await Promise.all(abandoned.map((name) => removeFolder(join(tmpdir(), name)).catch(() => undefined)))
}

export class WorkerFolder {
  readonly path: string
  /** Path of the program of workers. */
  readonly program: string
  readonly #code: string
  #files = 0

  private constructor(path: string, code: string) {
    this.path = path
    this.#code = code
    this.program = join(path, 'worker.mjs')
  }

  /** Creates the folder with the program. */
  static async create(): Promise<WorkerFolder> {
    await mkdir(tmpdir(), { recursive: true })
    await removeAbandoned()
    const code = await compileProgram(childProgram(import.meta.url, './worker/main'))
    const folder = new WorkerFolder(await mkdtemp(join(tmpdir(), `${prefix}${process.pid}-`)), code)
    try {
      await folder.restore()
      return folder
    } catch (error) {
      // The next attempt creates another one.
      await folder.remove()
      throw error
    }
  }

  /**
   * Writes the program if it is not there.
   *
   * @returns whether it was missing
   */
  async restore(): Promise<boolean> {
    if (existsSync(this.program)) return false
    await mkdir(this.path, { recursive: true, mode: 0o700 })
    await writeWholeFile(this.program, this.#code)
    return true
  }

  /** Remembers a worker as long as it runs, in case that this process is killed. */
  addWorker(pid: number): void {
    writeFileSync(join(this.path, `${pid}.pid`), '')
  }

  removeWorker(pid: number): void {
    rmSync(join(this.path, `${pid}.pid`), { force: true })
  }

  /** A path that no other file has. The path of a socket must be shorter than 100 bytes. */
  newPath(suffix: string): string {
    return join(this.path, `${++this.#files}${suffix}`)
  }

  remove(): Promise<void> {
    return rm(this.path, { recursive: true, force: true })
  }
}
