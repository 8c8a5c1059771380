import t from 'tap'
import { childEnvironment, childExecArgv, childProgram } from '../../../server/services/background/process.ts'

t.test('a child inherits neither a debugger nor a program', (t) => {
  t.strictSame(childExecArgv(['--inspect=9229', '--import=x', '--inspect-brk', '--max-semi-space-size=8']), [
    '--import=x',
    '--max-semi-space-size=8',
  ])
  for (const option of ['-e', '--eval', '-p', '-pe', '--print']) {
    t.strictSame(childExecArgv(['--import=x', option, 'startProcesses()', '--no-warnings']), [
      '--import=x',
      '--no-warnings',
    ])
  }
  t.strictSame(childExecArgv(['--eval=startProcesses()', '--print=1', '--import', 'x', '-r', 'y']), [
    '--import',
    'x',
    '-r',
    'y',
  ])
  t.end()
})

t.test('a program is the source or the compiled file, like the one that starts it', (t) => {
  t.equal(childProgram('file:///app/server/a/b.ts', './c/main'), '/app/server/a/c/main.ts')
  t.equal(childProgram('file:///app/dist/a/b.js', './c/main'), '/app/dist/a/c/main.js')
  t.end()
})

t.test('a child inherits no secrets', (t) => {
  t.intercept(process, 'env', { value: { PATH: '/bin', LC_ALL: 'C', PGRST_JWT_SECRET: 'x', DATABASE_URL: 'y' } })
  t.strictSame(childEnvironment(), { PATH: '/bin', LC_ALL: 'C' })
  t.end()
})
