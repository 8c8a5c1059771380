// Limits the rate of a repeated action.

/**
 * Wraps an action. The first call runs it immediately. Calls during the pause after a run cause one more run at its end.
 *
 * @param pause milliseconds
 */
export function debounced(action: () => void, pause: number): () => void {
  let isPausing = false
  let isWanted = false
  const run = (): void => {
    isWanted = false
    isPausing = true
    action()
    setTimeout(() => {
      isPausing = false
      if (isWanted) run()
    }, pause).unref()
  }
  return () => {
    if (isPausing) isWanted = true
    else run()
  }
}
