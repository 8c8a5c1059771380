import t from 'tap'
import { childEnvironment, childExecArgv } from '../../server/common/child-environment.ts'

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
  t.end()
})

t.test('a child inherits no secrets', (t) => {
  t.intercept(process, 'env', { value: { PATH: '/bin', LC_ALL: 'C', PGRST_JWT_SECRET: 'x', DATABASE_URL: 'y' } })
  t.strictSame(childEnvironment(), { PATH: '/bin', LC_ALL: 'C' })
  t.end()
})
