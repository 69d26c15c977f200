import type { PageEntry } from './page-entry.ts'

/** Every page, in the order of the navigation. */
export const PAGES: readonly PageEntry[] = [
  {
    path: '/',
    nav: 'Inbox',
    load: async () => (await import('../inbox/inbox-page.ts')).inboxPage,
  },
  {
    path: '/requests',
    nav: 'Requests',
    load: async () => (await import('../requests/requests-page.ts')).requestsPage,
  },
  { path: '/requests/:id', load: async () => (await import('../requests/request-page.ts')).requestPage },
  {
    path: '/keys',
    nav: 'API keys',
    roles: ['owner'],
    load: async () => (await import('../keys/keys-page.ts')).keysPage,
  },
  { path: '/audit', nav: 'Audit', load: async () => (await import('../audit/audit-page.ts')).auditPage },
  {
    path: '/account',
    nav: 'Account',
    load: async () => (await import('../account/account-page.ts')).accountPage,
  },
  {
    path: '/verify',
    public: true,
    load: async () => (await import('../verify/verify-page.ts')).verifyPage,
  },
]
