import type { User } from '../webauthn-page/kit/api/contract.ts'
import { wasSignedIn } from '../webauthn-page/kit/api/signed-in-before.ts'
import { forgetWhenLeft } from '../webauthn-page/kit/dom/stage.ts'
import { openInbox } from './inbox/inbox-page.ts'
import type { PageEntry, PageView } from './shell/page-entry.ts'
import { Router } from './shell/router.ts'

/** Every page; `shell/navigation.ts` says who may open those of them that not everybody may. */
const PAGES: readonly PageEntry[] = [
  {
    path: '/overview',
    load: async () => {
      const { overviewPage } = await import('./overview/overview-page.ts')
      return async (context) => tellSuspended(await overviewPage(context), context.user)
    },
  },
  {
    path: '/',
    // Most visits begin with the inbox: its code loads with the shell, not after it.
    load: async () => {
      const open = openInbox()
      return async (context) => tellSuspended(await open(context), context.user)
    },
  },
  { path: '/requests', load: async () => (await import('./requests/requests-page.ts')).requestsPage },
  { path: '/keys', load: async () => (await import('./keys/keys-page.ts')).keysPage },
  {
    path: '/integrations',
    load: async () => (await import('./integrations/integrations-page.ts')).integrationsPage,
  },
  {
    path: '/integrations/webhooks/:id',
    load: async () => (await import('./integrations/webhook-page.ts')).webhookPage,
  },
  { path: '/members', load: async () => (await import('./members/members-page.ts')).membersPage },
  { path: '/settings', load: async () => (await import('./settings/settings-page.ts')).settingsPage },
  { path: '/audit', load: async () => (await import('./audit/audit-page.ts')).auditPage },
  { path: '/account', load: async () => (await import('./account/account-page.ts')).accountPage },
  { path: '/verify', public: true, load: async () => (await import('./verify/verify-page.ts')).verifyPage },
]

/** Warns on the pages that people begin with of a suspended passkey: it may have a copy. */
async function tellSuspended(view: PageView, { has_suspended_passkey }: User): Promise<PageView> {
  if (has_suspended_passkey) (await import('./account/factors.ts')).tellSuspended(view.scene)
  return view
}

/** Starts the worker in an app on the home screen, where no browser window would say that the network is lost. */
async function startWorkerOfApp(): Promise<void> {
  if (!matchMedia('(display-mode: standalone)').matches) return
  // Some browsers allow no workers, for example in private windows: the app works without one.
  await import('./account/push.ts').then(({ startWorker }) => startWorker()).catch(() => {})
}

addEventListener('keydown', (event) => {
  if (event.key !== 'k' || !(event.ctrlKey || event.metaKey) || !wasSignedIn()) return
  event.preventDefault()
  void import('./shell/palette.ts').then(({ openPalette }) => openPalette())
})
void new Router(PAGES).start().then(startWorkerOfApp)
// After the router, which notes the scroll position: a covered page has none.
forgetWhenLeft()
