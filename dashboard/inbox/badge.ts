const ICON = 'link[rel="icon"]'

/**
 * Shows how many requests wait on the icon of the tab, and on that of the app on a home screen. The tab gets its own icon back when
 * `left` aborts, since other pages do not follow the number.
 */
export function showBadge(count: number, left: AbortSignal): void {
  // Some browsers refuse it without a permission, or have no app.
  if ('setAppBadge' in navigator) void navigator.setAppBadge(count).catch(() => {})
  const icon = document.querySelector<HTMLLinkElement>(ICON)
  if (icon === null || left.aborted) return
  icon.dataset.plain ??= icon.href
  const plain = icon.dataset.plain
  icon.href = count === 0 ? plain : `data:image/svg+xml,${encodeURIComponent(badged(count))}`
  left.addEventListener('abort', () => icon.setAttribute('href', plain), { once: true })
}

/** The icon (`webauthn-page/kit/favicon.svg`) with the number on it: the lower half, since a tab shows 16 pixels. */
function badged(count: number): string {
  const words = count > 99 ? '99+' : String(count)
  const size = words.length > 2 ? 13 : 18
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><rect width="32" height="32" rx="8" fill="#0f5c46"/><path d="M8.5 8.5l5 5 10-11" fill="none" stroke="#fff" stroke-width="3.2"/><rect y="13" width="32" height="19" rx="6" fill="#a3231d"/><text x="16" y="${size === 18 ? 29 : 27}" font-family="sans-serif" font-weight="700" font-size="${size}" text-anchor="middle" fill="#fff">${words}</text></svg>`
}
