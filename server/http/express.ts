// Express, which requests to the REST API do not need.
import type express from 'express'
import { lazyPackage } from '../common/lazy.ts'

export const loadExpress = lazyPackage<typeof express>('express')
