import type { PageEntry } from './page-entry.ts'

/** Every page, in the order of the navigation. */
export const PAGES: readonly PageEntry[] = [
  {
    path: '/account',
    nav: 'Account',
    load: async () => (await import('../account/account-page.ts')).accountPage,
  },
]
