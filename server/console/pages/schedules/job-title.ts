// How a job is called.
import type { ScheduleJob } from '../../../services/console/schedule-protocol.ts'

export const titleOf = ({ job, name }: Pick<ScheduleJob, 'job' | 'name'>): string => name ?? `job ${job}`
