import { button } from '../dom/button.ts'
import { type Child, el } from '../dom/element.ts'
import { stopPrompt } from './ceremony.ts'

/** Says, while the browser's own prompt is open, what is being waited for and how to get out of it. */
export function promptNote(): Child[] {
  return [
    'your browser asks for your passkey now. Close its prompt to do something else here. ',
    el('span', { class: 'note-button' }, button('Stop waiting', 'quiet', stopPrompt)),
  ]
}

/** Turning to another way takes the prompt back: two ways at once would leave the person waiting for the wrong one. */
export function insteadOfPrompt(other: HTMLElement): void {
  for (const type of ['click', 'input', 'submit']) other.addEventListener(type, stopPrompt)
}
