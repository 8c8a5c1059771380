// Express, which is loaded at its first use: requests to the REST API do not need it.
import { createRequire } from 'node:module'
import type express from 'express'

const require = createRequire(import.meta.url)

let loaded: typeof express | undefined

export const loadExpress = (): typeof express => (loaded ??= require('express') as typeof express)
