import type { AccountView } from './account-view.ts'

/** `path` with `account=` for an account that is not the person's own: the service takes the own one by itself. */
export function ofAccount(path: string, { id, own }: AccountView): string {
  return own ? path : withAccount(path, id)
}

/** Address of a page that shows `account`; the account that opens first needs no name. */
export function pageHref(path: string, account: AccountView, [first]: readonly AccountView[]): string {
  return account.id === first?.id ? path : withAccount(path, account.id)
}

function withAccount(path: string, id: string): string {
  return `${path}${path.includes('?') ? '&' : '?'}account=${encodeURIComponent(id)}`
}
