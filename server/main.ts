import { createServer } from 'node:http'
import { loadConfig } from './config/load.ts'
import { startService } from './service.ts'

const loaded = loadConfig({ env: process.env })
const service = await startService({ env: process.env, configFile: undefined, loaded, uri: loaded.config.dbUri ?? '' })
const server = createServer(service.listener)
server.listen(loaded.config.serverPort, loaded.config.serverHost)
