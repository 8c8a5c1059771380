// Figures of the scheduler, for metrics.

export class ScheduleFigures {
  /** Whether this process runs the jobs. */
  isScheduling = false
  /** Active jobs, at the last look. */
  jobs = 0
  running = 0
  /** Jobs that are due and wait for another to end. */
  waiting = 0
  /** Due times without a run, of the jobs that exist. */
  skipped = 0
  /** Ended runs of this process. */
  succeeded = 0
  failed = 0
}
