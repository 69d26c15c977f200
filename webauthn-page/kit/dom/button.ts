import { type Attributes, announce, type Child, div, el } from './element.ts'

export type ButtonLook = 'approve' | 'reject' | 'primary' | 'plain' | 'quiet' | 'danger'

/** A button that runs `work` once at a time: while it runs the button says so and starts nothing more. */
export function button(
  label: string,
  look: ButtonLook,
  work: () => void | Promise<void>,
  attributes: Attributes = {},
): HTMLButtonElement {
  const element = el('button', { type: 'button', class: `button ${look}`, ...attributes }, label)
  element.addEventListener('click', () => {
    void runOnce(element, work)
  })
  return element
}

/** Keeps the focus where it is (unlike `disabled`) while the work of this button or form is under way. */
export async function runOnce(element: HTMLElement, work: () => void | Promise<void>): Promise<void> {
  if (element.getAttribute('aria-disabled') === 'true') return announce('Still working, please wait')
  element.setAttribute('aria-disabled', 'true')
  try {
    await work()
  } finally {
    element.removeAttribute('aria-disabled')
  }
}

/** A submit button for `form`. */
export function submitButton(label: string, look: ButtonLook = 'primary'): HTMLButtonElement {
  return el('button', { type: 'submit', class: `button ${look}` }, label)
}

/** Buttons, or links that look like them, side by side. */
export function buttonRow(...buttons: Child[]): HTMLElement {
  return div('buttons', ...buttons)
}

/** Copies `text` and says so, or that it `failed`; `what` completes the accessible name ("Copy the API key"). */
export function copyButton(
  text: string,
  what: string,
  label = 'Copy',
  failed = 'Not copied, select by hand',
): HTMLButtonElement {
  const element = button(label, 'quiet', async () => say(await copied(text)), {
    'aria-label': `Copy ${what}`,
  })
  const say = (done: boolean): void => {
    const outcome = done ? 'Copied' : failed
    element.textContent = outcome
    element.setAttribute('aria-label', `${outcome}: ${what}`)
    announce(`${outcome}: ${what}`)
  }
  return element
}

/** What is shown, and beside it the button that copies it; `what` as in `copyButton`. */
export function copyable(shown: HTMLElement, text: string, what: string): HTMLElement {
  return div('copyable', shown, copyButton(text, what))
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
