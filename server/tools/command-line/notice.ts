// What commands say about their progress.

/** A function that prints messages, as JSON if the command was called with `--json`. */
export const noticeTo =
  (printError: (text: string) => void, isJson: boolean) =>
  (message: string): void =>
    printError(isJson ? `${JSON.stringify({ notice: message })}\n` : `${message}\n`)
