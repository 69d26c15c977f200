const TOKEN = /^#[\w-]{43}$/

/**
 * The fragment of a one-time link, taken out of the address at once: it must not stay in the history, a screenshot or a
 * Referer (T14). To be called once, before anything else.
 */
export function takeToken(): string {
  // A second link opened in this tab only changes the fragment: without a fresh start its token would stay in the address.
  addEventListener('hashchange', () => {
    if (TOKEN.test(location.hash)) location.reload()
  })
  const token = location.hash.slice(1)
  history.replaceState(null, '', location.pathname)
  return token
}
