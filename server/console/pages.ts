// The pages, each loaded when it is opened.
import type { ComponentType } from 'preact'
import type { ConsoleSession } from '../services/console/protocol.ts'

export type Page = {
  /** First segment of its address; empty for the first page. */
  readonly name: string
  readonly title: string
  /** Services of which the server must have one; none: the page is always there. */
  readonly services: readonly string[]
  readonly load: () => Promise<{ readonly default: ComponentType }>
}

/** In the order of the navigation. */
export const pages: readonly Page[] = [
  { name: '', title: 'Home', services: [], load: () => import('./pages/home/page.tsx') },
  { name: 'tables', title: 'Tables', services: ['rest'], load: () => import('./pages/tables/page.tsx') },
  { name: 'sql', title: 'SQL', services: [], load: () => import('./pages/sql/page.tsx') },
  { name: 'policies', title: 'Policies', services: [], load: () => import('./pages/policies/page.tsx') },
  { name: 'explain', title: 'Explain', services: ['rest'], load: () => import('./pages/explain/page.tsx') },
  { name: 'users', title: 'Users', services: ['auth', 'auth-v1'], load: () => import('./pages/users/page.tsx') },
  { name: 'files', title: 'Files', services: ['storage'], load: () => import('./pages/files/page.tsx') },
  { name: 'api', title: 'API', services: ['rest'], load: () => import('./pages/api/page.tsx') },
  { name: 'requests', title: 'Requests', services: [], load: () => import('./pages/requests/page.tsx') },
  { name: 'realtime', title: 'Realtime', services: ['realtime'], load: () => import('./pages/realtime/page.tsx') },
  { name: 'webhooks', title: 'Webhooks', services: ['webhooks'], load: () => import('./pages/webhooks/page.tsx') },
  { name: 'schedules', title: 'Schedules', services: ['schedules'], load: () => import('./pages/schedules/page.tsx') },
  { name: 'functions', title: 'Functions', services: ['functions'], load: () => import('./pages/functions/page.tsx') },
  { name: 'runs', title: 'Runs', services: ['analysis'], load: () => import('./pages/runs/page.tsx') },
  { name: 'reports', title: 'Reports', services: ['reports'], load: () => import('./pages/reports/page.tsx') },
  { name: 'operations', title: 'Operations', services: [], load: () => import('./pages/operations/page.tsx') },
]

/** The pages of a server with these services. */
export const pagesOf = ({ services }: Pick<ConsoleSession, 'services'>): readonly Page[] =>
  pages.filter((page) => page.services.length === 0 || page.services.some((service) => services.includes(service)))
