// The SQL that creates, changes and removes jobs.
import type { ScheduleJob } from '../../../services/console/schedule-protocol.ts'

/** What people decide of a job. */
export type JobFields = Pick<ScheduleJob, 'schedule' | 'command' | 'missed'> & { readonly name: string }

const literal = (text: string): string => {
  const quoted = text.replaceAll("'", "''")
  // A backslash is one whatever `standard_conforming_strings` is.
  return text.includes('\\') ? `E'${quoted.replaceAll('\\', '\\\\')}'` : `'${quoted}'`
}

/** The SQL of a command in dollar quotes, so that it can be read. */
function quotedCommand(command: string): string {
  const text = `\n${command.trim()}\n`
  let tag = '$$'
  for (let number = 1; text.includes(tag); number++) tag = `$job${number}$`
  return tag + text + tag
}

export const createJobSql = ({ name, schedule, command, missed }: JobFields): string =>
  `select cron.schedule(${literal(name)}, ${literal(schedule)}, ${quotedCommand(command)});` +
  (missed === 'once'
    ? `\nupdate cron.job set missed = 'once' where jobname = ${literal(name)} and username = current_user;`
    : '')

/** A condition that names the job in other databases of the project, too, where it has another number. */
const conditionOf = ({ job, name, role }: ScheduleJob): string =>
  name === null ? `jobid = ${job}` : `jobname = ${literal(name)} and username = ${literal(role)}`

/** @returns SQL of what differs; empty if nothing does */
export function changeJobSql(job: ScheduleJob, { schedule, command, missed }: JobFields): string {
  const changes = [
    ...(schedule === job.schedule ? [] : [`schedule := ${literal(schedule)}`]),
    ...(command === job.command ? [] : [`command := ${quotedCommand(command)}`]),
  ]
  const where = conditionOf(job)
  return [
    ...(changes.length === 0
      ? []
      : [`select cron.alter_job(jobid, ${changes.join(', ')}) from cron.job where ${where};`]),
    ...(missed === job.missed ? [] : [`update cron.job set missed = '${missed}' where ${where};`]),
  ].join('\n')
}

export const activateJobSql = (job: ScheduleJob, isActive: boolean): string =>
  `select cron.alter_job(jobid, active := ${isActive}) from cron.job where ${conditionOf(job)};`

export const removeJobSql = (job: ScheduleJob): string =>
  `select cron.unschedule(jobid) from cron.job where ${conditionOf(job)};`
