/**
 * The longest delay of Node's timers, in milliseconds. A longer one becomes 1.
 * https://nodejs.org/api/timers.html#settimeoutcallback-delay-args
 */
export const longestTimer = 2 ** 31 - 1
