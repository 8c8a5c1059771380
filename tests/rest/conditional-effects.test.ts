// Reads with versions run once, also when privileges have changed since the schema cache was loaded. The pre-request
// function writes through a separate connection (dblink), which a rollback does not undo.
import t from 'tap'
import { startConditional } from '../support/conditional.ts'

const { as, database } = await startConditional(t, { PGRST_DB_PRE_REQUEST: 'cond.count_request' })

t.test('the pre-request function of a read runs once', async (t) => {
  await database.query(`
    create extension dblink schema public;
    create table cond.requests (path text);
    create function cond.count_request() returns void language plpgsql security definer as $$
    begin
      perform public.dblink_exec('${database.adminUri}',
        format('insert into cond.requests values (%L)', current_setting('request.path')));
    end $$;
    grant execute on function cond.count_request() to authenticated;
    revoke select on cond.pairs from authenticated;
    grant select (a, b) on cond.pairs to authenticated`)
  const answer = await as('ann', 'GET', '/pairs?a=eq.1&b=eq.x&select=a')
  t.match(answer, { status: 403, body: { code: '42501' } })
  const { rows } = await database.query('select path from cond.requests')
  t.strictSame(rows, [{ path: '/pairs' }])
})
