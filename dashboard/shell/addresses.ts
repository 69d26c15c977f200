import type { AccountView } from './account-view.ts'

/** The ways from a page that shows `account`: to calls about it, and to other pages for it. */
export function waysOf(account: AccountView, accounts: readonly AccountView[]) {
  return {
    ofAccount: (path: string) => ofAccount(path, account),
    href: (path: string) => pageHref(path, account, accounts),
  }
}

/** Adds `account=` to `path` for an account that is not the person's own: the own account is the service's default. */
export function ofAccount(path: string, { id, own }: AccountView): string {
  return own ? path : withAccount(path, id)
}

/** Returns the address of a page that shows `account`; the account that opens first needs no `account=`. */
export function pageHref(path: string, account: AccountView, [first]: readonly AccountView[]): string {
  return account.id === first?.id ? path : withAccount(path, account.id)
}

function withAccount(path: string, id: string): string {
  return `${path}${path.includes('?') ? '&' : '?'}account=${encodeURIComponent(id)}`
}

/**
 * Returns the values in `path` of the `:names` of a pattern such as `/requests/:id`; undefined if the path does not fit. A
 * value is one whole segment, decoded.
 */
export function matchPath(pattern: string, path: string): Record<string, string> | undefined {
  const wanted = pattern.split('/')
  const given = path.split('/')
  if (wanted.length !== given.length) return undefined
  const params: Record<string, string> = {}
  for (const [at, part] of wanted.entries()) {
    const segment = decoded(given[at] ?? '')
    if (segment === undefined) return undefined
    if (!part.startsWith(':')) {
      if (part !== segment) return undefined
    } else if (segment === '') return undefined
    else params[part.slice(1)] = segment
  }
  return params
}

function decoded(segment: string): string | undefined {
  try {
    return decodeURIComponent(segment)
  } catch {
    return undefined
  }
}
