import { button } from './button.ts'
import { el } from './element.ts'

/** Saves `content` as a file; it is made in the page and never leaves it. */
export function downloadButton(
  label: string,
  filename: string,
  type: string,
  content: string,
): HTMLButtonElement {
  return button(label, 'quiet', () => {
    const url = URL.createObjectURL(new Blob([content], { type }))
    el('a', { href: url, download: filename }).click()
    setTimeout(() => URL.revokeObjectURL(url), 10_000)
  })
}
