// An exporter of spans that reports how each export ended. The SDK does not report failures.
import type { ReadableSpan, SpanExporter } from '@opentelemetry/sdk-trace-base'

/** Receives the number of spans of an export, and why it has failed. */
export type ExportReport = (spans: number, error: Error | undefined) => void

/** `ExportResultCode.SUCCESS` of a package that is loaded only if requests are traced. */
const success = 0

type Done = Parameters<SpanExporter['export']>[1]

export class ReportingExporter implements SpanExporter {
  readonly #exporter: SpanExporter
  readonly #report: ExportReport

  constructor(exporter: SpanExporter, report: ExportReport) {
    this.#exporter = exporter
    this.#report = report
  }

  export(spans: ReadableSpan[], done: Done): void {
    this.#exporter.export(spans, (result) => {
      const isSuccess = Number(result.code) === success
      this.#report(spans.length, isSuccess ? undefined : (result.error ?? new Error('the export failed')))
      done(result)
    })
  }

  forceFlush(): Promise<void> {
    return this.#exporter.forceFlush?.() ?? Promise.resolve()
  }

  shutdown(): Promise<void> {
    return this.#exporter.shutdown()
  }
}
