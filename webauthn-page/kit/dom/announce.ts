/** Tells screen readers about a change without moving the focus (`aria-live="polite"`). */
export function announce(message: string): void {
  const region = document.querySelector('#announcements')
  if (region !== null) region.textContent = message
}
