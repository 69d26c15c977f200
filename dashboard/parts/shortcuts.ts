import { button } from '../../webauthn-page/kit/dom/button.ts'
import { openDialog } from '../../webauthn-page/kit/dom/dialog.ts'
import { el, hint } from '../../webauthn-page/kit/dom/element.ts'
import { tick } from '../../webauthn-page/kit/dom/form.ts'
import { keep, kept } from '../../webauthn-page/kit/dom/kept.ts'

/** A key and its effect; without `run` the browser itself handles the key. */
export interface Shortcut {
  key: string
  does: string
  run?(): void
}

/** Handled for all pages (`dashboard/main.ts`). */
const GO_TO: Shortcut = { key: 'Ctrl K', does: 'Go to a page, a filter or a request' }

/** Makes the keys work anywhere but in fields and dialogs, until `signal`. @returns a function that shows all of them */
export function shortcuts(keys: readonly Shortcut[], signal: AbortSignal): () => void {
  const explain: Shortcut = { key: '?', does: 'Show this list', run: () => void showKeys() }
  const all = [...keys, GO_TO, explain]
  const showKeys = (): Promise<unknown> =>
    openDialog('Keyboard shortcuts', (close) => [
      keyList(all),
      setting(),
      button('Close', 'primary', () => close()),
    ])
  document.addEventListener(
    'keydown',
    (event) => {
      const run = all.find(({ key }) => key === event.key)?.run
      if (run === undefined || !isMeant(event) || !areOn()) return
      event.preventDefault()
      run()
    },
    { signal },
  )
  return () => void showKeys()
}

/** Checks that the key is meant as a shortcut: not held, not typed into a field, not part of another command. */
function isMeant({ target, repeat, ctrlKey, metaKey, altKey, key }: KeyboardEvent): boolean {
  if (ctrlKey || metaKey || altKey || document.querySelector('dialog[open]') !== null) return false
  if (repeat && key !== 'j' && key !== 'k') return false
  const field = 'input:not([type="checkbox"]), textarea, select, [contenteditable]'
  return !(target instanceof Element && target.matches(field))
}

function keyList(keys: readonly Shortcut[]): HTMLElement {
  const row = ({ key, does }: Shortcut): HTMLElement =>
    el('div', {}, el('dt', {}, el('kbd', {}, key)), el('dd', {}, does))
  return el('dl', { class: 'key-list' }, ...keys.map(row))
}

const SETTING = 'single-keys'

/** The switch for single keys: people who use speech input or a switch device must be able to turn them off (WCAG 2.1.4). */
function setting(): HTMLElement {
  const { row, input } = tick('checkbox', 'Use shortcuts in this browser', { checked: areOn() })
  input.addEventListener('change', () => {
    if (!keep('localStorage', SETTING, input.checked ? 'on' : 'off'))
      row.append(hint('This browser does not let the page store this setting.'))
  })
  return row
}

function areOn(): boolean {
  return kept('localStorage', SETTING) !== 'off'
}
