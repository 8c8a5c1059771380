// Is loaded into the process of tap by `run.ts`. Tap loads what measures coverage into each process of tests, which takes a
// third of a second of processor time there, with `disable-coverage`, too: this leaves it out.
import childProcess from 'node:child_process'
import { syncBuiltinESMExports } from 'node:module'

const { spawn } = childProcess
childProcess.spawn = (command, args, options) =>
  spawn(
    command,
    args.filter((arg) => !/^--import=.*@tapjs\/processinfo/.test(arg)),
    options,
  )
syncBuiltinESMExports()
