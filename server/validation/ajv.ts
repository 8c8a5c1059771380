// Ajv, which is needed when the first schema is compiled.
import type * as Ajv from 'ajv/dist/2020.js'
import type Formats from 'ajv-formats'
import { lazyPackage } from '../common/lazy.ts'

export const loadAjv = lazyPackage<typeof Ajv>('ajv/dist/2020.js')

export const loadFormats = lazyPackage<typeof Formats>('ajv-formats')
