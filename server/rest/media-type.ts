// Media types as the API understands them.

export type PlanOption = 'analyze' | 'verbose' | 'settings' | 'buffers' | 'wal'

export type MediaType =
  | { readonly kind: 'json' }
  | { readonly kind: 'geojson' }
  | { readonly kind: 'csv' }
  | { readonly kind: 'text' }
  | { readonly kind: 'xml' }
  | { readonly kind: 'openapi' }
  | { readonly kind: 'urlencoded' }
  | { readonly kind: 'octet-stream' }
  | { readonly kind: 'any' }
  /** Anything else, as the client wrote it. */
  | { readonly kind: 'other'; readonly text: string }
  | { readonly kind: 'array-json-strip' }
  | { readonly kind: 'single-json'; readonly stripNulls: boolean }
  | {
      readonly kind: 'plan'
      readonly for: MediaType
      readonly format: 'json' | 'text'
      readonly options: readonly PlanOption[]
    }
