import { type Attributes, announce, type Child, div, el } from './element.ts'

export type ButtonLook = 'approve' | 'reject' | 'primary' | 'plain' | 'quiet' | 'danger'

/** A button that runs `work` once at a time: a press during the work starts nothing and announces that it still runs. */
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

/** Runs the work of a button or form once at a time. Unlike `disabled`, `aria-disabled` keeps the focus where it is. */
export async function runOnce(element: HTMLElement, work: () => void | Promise<void>): Promise<void> {
  if (element.getAttribute('aria-disabled') === 'true') return announce('Still working, please wait')
  element.setAttribute('aria-disabled', 'true')
  try {
    await work()
  } finally {
    element.removeAttribute('aria-disabled')
  }
}

/** A submit button for a `form`. */
export function submitButton(label: string, look: ButtonLook = 'primary'): HTMLButtonElement {
  return el('button', { type: 'submit', class: `button ${look}` }, label)
}

/** Buttons, or links that look like them, side by side. */
export function buttonRow(...buttons: Child[]): HTMLElement {
  return div('buttons', ...buttons)
}

/** Copies `text` and shows "Copied", or `failed`; `what` completes the accessible name ("Copy the API key"). */
export function copyButton(
  text: string,
  what: string,
  label = 'Copy',
  failed = 'Not copied: select the text yourself',
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

/** The element `shown` with a button beside it that copies `text`; `what` as in `copyButton`. */
export function copyable(shown: HTMLElement, text: string, what: string): HTMLElement {
  return div('copyable', shown, copyButton(text, what))
}

/** Copies the text; false when the browser refuses the clipboard or does not offer it. */
async function copied(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text)
    return true
  } catch {
    return false
  }
}

/** A button that saves `content` as a file. The page makes the file itself; nothing is sent. */
export function downloadButton(
  label: string,
  filename: string,
  type: string,
  content: string,
): HTMLButtonElement {
  return button(label, 'quiet', () => saveAs(filename, type, content))
}

/** Saves `content` as a file. */
export function saveAs(filename: string, type: string, content: string): void {
  const url = URL.createObjectURL(new Blob([content], { type }))
  el('a', { href: url, download: filename }).click()
  setTimeout(() => URL.revokeObjectURL(url), 10_000)
}
