import type { User } from '../../webauthn-page/kit/api/contract.ts'
import type { AccountInvitation, AccountView, Role } from './account-view.ts'

/** What a page makes of an address: the router shows it. */
export interface PageView {
  /** For the window; the page's own `<h1>` may say more. */
  title: string
  /** The whole content of `<main>`; holds one `<h1>`. */
  scene: HTMLElement
  wide?: boolean
}

/** Opens the page again, and says there, as a success, what was done. */
export type Done = (message?: string) => Promise<void>

/** What every page gets, signed in or not. */
export interface Visit {
  /** What the `:names` of the page's path stand for. */
  params: Readonly<Record<string, string>>
  query: URLSearchParams
  /** Aborted as soon as another page, or this one again, is opened. */
  signal: AbortSignal
  done: Done
  /** Opens another page of the dashboard, likewise. */
  go(path: string, message?: string): Promise<void>
}

/** What pages for signed-in people get. */
export interface PageContext extends Visit {
  user: User
  /** The account that is looked at, as the address says: `?account=acc_…`. */
  account: AccountView
  /** All accounts this person may look at, never empty. */
  accounts: readonly AccountView[]
  /** Accounts this person is asked to join. */
  invitations: readonly AccountInvitation[]
  /** `path` of a GET that takes `?account=`, for the account that is looked at. */
  ofAccount(path: string): string
  /** Address of another page of the dashboard that keeps the account that is looked at. */
  href(path: string): string
}

/** Throws what calls throw; the router then says so and offers to try again. */
export type OpenPage = (context: PageContext) => Promise<PageView>

/** A visit of a page that works signed out. */
export interface PublicVisit extends Visit {
  /** What a signed-in person gets elsewhere. */
  member: PageContext | undefined
}

type OpenPublicPage = (visit: PublicVisit) => Promise<PageView>

interface Entry {
  /** Such as `/requests/:id`. */
  path: string
  /** Its name in the navigation; without one it stands there under the entry whose path it begins with. */
  nav?: string
}

/** One page of the dashboard. `load` imports the page's module, so that each becomes a file of its own. */
export type PageEntry = Entry &
  (
    | { public: true; load(): Promise<OpenPublicPage> }
    | {
        public?: false
        /** Who may see it, by the role in the account that is looked at. All when left out. */
        roles?: readonly Role[]
        load(): Promise<OpenPage>
      }
  )

/** Whether it can be opened in that account. */
export function isOpenTo(entry: PageEntry, role: Role): boolean {
  return entry.public === true || entry.roles === undefined || entry.roles.includes(role)
}
