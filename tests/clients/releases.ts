// The clients that `npm run test:clients` runs, in exact releases. No part of this project depends on them.

/** How a package gets into the cache: from npm's registry, or into a virtual environment of Python. */
export type Installer = 'npm' | 'pip'

export type Client = {
  /** The section of the guide that lists the client. */
  readonly area: 'JavaScript' | 'Admin frameworks' | 'OpenAPI' | 'Other languages' | 'Databases and agents'
  readonly release: string
  /** Its package, if the client has another name in the guide. */
  readonly package?: string
  readonly installer?: Installer
  /** Further packages of the scenario, in exact releases: peers, and what a user of this client has beside it. */
  readonly with?: Readonly<Record<string, string>>
  /** Runs the install scripts of these packages of npm. */
  readonly scripts?: true
}

/** What packages of npm depend on is taken as it was at the beginning of this day, so that a run can be repeated. */
export const dependenciesOf = '2026-11-29'

export const clients = {
  '@supabase/supabase-js': { area: 'JavaScript', release: '2.119.1' },
  '@raphiniert/ra-data-postgrest': { area: 'Admin frameworks', release: '2.5.1', with: { 'ra-core': '5.15.4' } },
  '@supabase/ssr': { area: 'JavaScript', release: '0.12.7', with: { '@supabase/supabase-js': '2.119.1' } },
  '@supabase-cache-helpers/postgrest-react-query': {
    area: 'JavaScript',
    release: '1.13.9',
    with: {
      '@tanstack/react-query': '5.108.4',
      '@supabase/postgrest-js': '2.119.1',
      react: '18.3.1',
      'react-dom': '18.3.1',
      '@testing-library/react': '16.3.3',
      '@testing-library/dom': '10.4.2',
      jsdom: '26.1.0',
      '@supabase/supabase-js': '2.119.1',
    },
  },
  '@supabase-cache-helpers/postgrest-swr': {
    area: 'JavaScript',
    release: '2.0.6',
    with: {
      swr: '2.5.1',
      '@supabase/postgrest-js': '2.119.1',
      react: '18.3.1',
      'react-dom': '18.3.1',
      '@testing-library/react': '16.3.3',
      '@testing-library/dom': '10.4.2',
      jsdom: '26.1.0',
      '@supabase/supabase-js': '2.119.1',
    },
  },
  'ra-supabase-core': {
    area: 'Admin frameworks',
    release: '3.5.2',
    with: {
      'ra-core': '5.15.4',
      jsdom: '26.1.0',
      '@supabase/supabase-js': '2.119.1',
      react: '19.3.1',
      'react-dom': '19.3.1',
    },
  },
  '@refinedev/supabase': {
    area: 'Admin frameworks',
    release: '6.0.2',
    with: { '@refinedev/core': '5.0.12', '@supabase/supabase-js': '2.119.1', react: '19.3.1', 'react-dom': '19.3.1' },
  },
  '@tanstack/query-db-collection': {
    area: 'JavaScript',
    release: '1.4.8',
    with: { '@tanstack/db': '0.15.2', '@tanstack/query-core': '5.108.4', '@supabase/supabase-js': '2.119.1' },
  },
  'vue-postgrest': { area: 'JavaScript', release: '1.3.0', with: { vue: '2.6.14', jsdom: '26.1.0' } },
  'supabase-js 1': { area: 'JavaScript', release: '1.35.7', package: '@supabase/supabase-js' },
  '@directus/storage-driver-supabase': { area: 'Admin frameworks', release: '5.0.2' },
  '@auth/supabase-adapter': {
    ...{ area: 'Admin frameworks', release: '1.11.3', with: { '@supabase/supabase-js': '2.119.1' } },
  },
  'supabase-py': { area: 'Other languages', release: '2.31.0', package: 'supabase', installer: 'pip' },
  'postgrest-py': { area: 'Other languages', release: '2.31.0', package: 'postgrest', installer: 'pip' },
  '@supabase/postgres-meta': {
    ...{
      area: 'Databases and agents',
      release: '0.99.0',
      with: { '@supabase/supabase-js': '2.119.1', '@types/node': '24.10.1' },
    },
  },
  '@supabase/mcp-server-postgrest': {
    ...{ area: 'Databases and agents', release: '0.2.0', with: { '@modelcontextprotocol/sdk': '1.32.2' } },
  },
  "n8n's Supabase node": { area: 'Databases and agents', release: '2.41.0', package: 'n8n-workflow' },
  'drizzle-orm': {
    ...{ area: 'Databases and agents', release: '0.45.4', with: { 'drizzle-kit': '0.31.11', pg: '8.16.3' } },
  },
  prisma: {
    ...{
      area: 'Databases and agents',
      release: '7.10.0',
      with: { '@prisma/client': '7.10.0', '@prisma/adapter-pg': '7.10.0' },
    },
  },
  '@langchain/community': {
    ...{
      area: 'Databases and agents',
      release: '1.1.29',
      with: { '@langchain/core': '1.4.0', '@supabase/supabase-js': '2.119.1' },
    },
  },
  '@supabase/mcp-server-supabase': { area: 'Databases and agents', release: '0.13.0' },
  supabase: { area: 'Databases and agents', release: '3.1.0', with: { '@supabase/server': '1.4.1' } },
  'openapi-typescript': {
    area: 'OpenAPI',
    release: '7.13.0',
    with: { swagger2openapi: '7.0.8', typescript: '5.9.3', '@types/node': '20.19.43' },
  },
  'openapi-fetch': {
    area: 'OpenAPI',
    release: '0.17.0',
    with: { 'openapi-typescript': '7.13.0', typescript: '5.9.3', '@types/node': '20.19.43' },
  },
  '@apidevtools/swagger-parser': { area: 'OpenAPI', release: '13.1.0' },
  '@redocly/cli': { area: 'OpenAPI', release: '2.77.0' },
} as const satisfies Readonly<Record<string, Client>>

export type ClientName = keyof typeof clients
