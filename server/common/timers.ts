/**
 * The longest delay of Node's timers, in milliseconds. A longer one becomes 1.
 * https://nodejs.org/api/timers.html#settimeoutcallback-delay-args
 */
export const longestTimer = 2 ** 31 - 1

/**
 * Waits for a task, which goes on after the timeout.
 *
 * @param milliseconds until the wait ends
 * @returns whether the task has ended in time
 * @throws the error of the task
 */
export async function isInTime(milliseconds: number, task: Promise<unknown>): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<false>((resolve) => (timer = setTimeout(() => resolve(false), milliseconds)))
  try {
    return await Promise.race([task.then(() => true), late])
  } finally {
    clearTimeout(timer)
  }
}
