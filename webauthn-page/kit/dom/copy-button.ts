import { announce } from './announce.ts'
import { button } from './button.ts'

/** Copies `text` and says so; `what` completes the accessible name ("Copy the API key"). */
export function copyButton(text: string, what: string): HTMLButtonElement {
  const element = button('Copy', 'quiet', async () => say(await copied(text)), {
    'aria-label': `Copy ${what}`,
  })
  const say = (done: boolean): void => {
    const outcome = done ? 'Copied' : 'Not copied, select by hand'
    element.textContent = outcome
    element.setAttribute('aria-label', `${outcome}: ${what}`)
    announce(`${outcome}: ${what}`)
  }
  return element
}

/** Browsers may refuse the clipboard, or not offer it at all. */
async function copied(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text)
    return true
  } catch {
    return false
  }
}
