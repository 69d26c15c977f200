import type { DashboardPath } from '../../src/domain/pages.ts'
import type { User } from '../../webauthn-page/kit/api/contract.ts'
import type { AccountView } from './account-view.ts'

/** The view that a page builds for an address; the router shows it. */
export interface PageView {
  /** The window's title; the page's own `<h1>` may say more. */
  title: string
  /** The whole content of `<main>`; holds one `<h1>`. */
  scene: HTMLElement
  wide?: boolean
}

/** Reopens the page, and shows `message` there as a success. */
export type Done = (message?: string) => Promise<void>

/** The context of every page, signed in or not. */
export interface Visit {
  /** The values of the `:names` in the page's path. */
  params: Readonly<Record<string, string>>
  query: URLSearchParams
  /** Aborted as soon as another page is opened, or this page is reopened. */
  signal: AbortSignal
  done: Done
  /** Opens another page of the dashboard, and shows `message` there as a success. */
  go(path: string, message?: string): Promise<void>
}

/** The context of pages for signed-in people. */
export interface PageContext extends Visit {
  user: User
  /** The account that the page shows, named in the address: `?account=acc_…`. */
  account: AccountView
  /** All accounts this person may look at, never empty. */
  accounts: readonly AccountView[]
  /** Returns the `path` of a GET that takes `?account=`, for the account that the page shows. */
  ofAccount(path: string): string
  /** Returns the address of another page of the dashboard for the same account. */
  href(path: string): string
}

/** Builds a page. It may throw the errors of its calls: the router then shows them and offers to try again. */
export type OpenPage = (context: PageContext) => Promise<PageView>

/** A visit of a page that works signed out. */
export interface PublicVisit extends Visit {
  /** The context for a signed-in person; undefined when signed out. */
  member: PageContext | undefined
}

type OpenPublicPage = (visit: PublicVisit) => Promise<PageView>

/** One page of the dashboard. `load` imports the page's module, so that each page becomes a separate file. */
export type PageEntry = { path: DashboardPath } & (
  | { public: true; load(): Promise<OpenPublicPage> }
  | { public?: false; load(): Promise<OpenPage> }
)
