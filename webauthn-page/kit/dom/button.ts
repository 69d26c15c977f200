import { announce } from './announce.ts'
import { type Attributes, el } from './element.ts'

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
