// The program is told to stop: it sends the spans that it still has.
import t from 'tap'
import { createFilmDatabase } from '../../support/authenticator.ts'
import { startCollector } from '../../support/collector.ts'
import { says, startProgram } from '../../support/program.ts'

t.test('the spans of the last requests are sent at the end', async (t) => {
  const { anonymous, uri } = await createFilmDatabase(t, 1)
  const collector = await startCollector(t)
  const program = startProgram(t, {
    ...{ DATABASE_URL: uri, PGRST_DB_ANON_ROLE: anonymous, SERVICES: 'rest' },
    // Without the end, they would wait for a minute.
    ...{ OTEL_BSP_SCHEDULE_DELAY: '60000', OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json' },
    OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
  })
  await program.line(says('listening'))
  t.equal((await program.call('GET', '/rest/v1/films')).status, 200)
  t.strictSame(collector.spans(), [])
  program.kill('SIGTERM')
  t.equal(await program.ended, 0)
  t.match(
    collector
      .spans()
      .map(({ name }) => name)
      .filter((name) => name !== 'acquire connection'),
    ['request settings', 'SELECT', 'GET /rest/v1/films'],
  )
})
