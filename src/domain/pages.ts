/** Paths of the hosted page, which reads what to show from its address. `GET` has no effect on any of them (T13). */
export const HOSTED_PATHS = ['/setup', '/enroll', '/signin', '/link', '/a/:id', '/b/:id'] as const

/** Paths of the dashboard; `GET` has no effect on these either, and a sign-in may lead back to each. */
export const DASHBOARD_PATHS = [
  '/',
  '/overview',
  '/account',
  '/requests',
  '/keys',
  '/integrations',
  '/integrations/webhooks/:id',
  '/members',
  '/settings',
  '/audit',
  '/verify',
] as const

export type DashboardPath = (typeof DASHBOARD_PATHS)[number]

/** Checks whether the path is one of these, with an identifier for `:id`. */
export function isPage(paths: readonly string[], path: string): boolean {
  return paths.some((page) => new RegExp(`^${page.replace(':id', '[\\w-]+')}$`).test(path))
}
