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

/**
 * What the `:names` of a pattern such as `/requests/:id` stand for in `path`; undefined when it does not fit. A name
 * takes one whole segment and is decoded.
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
