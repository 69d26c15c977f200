import { announce } from './announce.ts'
import { button } from './button.ts'

/** Copies `text` and says so; `what` completes the accessible name ("Copy the API key"). */
export function copyButton(text: string, what: string): HTMLButtonElement {
  const element = button(
    'Copy',
    'quiet',
    async () => {
      const done = await navigator.clipboard.writeText(text).then(
        () => true,
        () => false,
      )
      element.textContent = done ? 'Copied' : 'Select and copy by hand'
      announce(done ? `Copied ${what}` : `The browser refused to copy ${what}`)
    },
    { 'aria-label': `Copy ${what}` },
  )
  return element
}
