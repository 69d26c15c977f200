import type { Factor } from '../api/contract.ts'
import { el } from '../dom/element.ts'
import { codeField, type Field, field, tick } from '../dom/form.ts'
import { passkeysWork, stopPrompt } from '../passkey/ceremony.ts'

/** With what the person confirms. */
export interface MethodChoice {
  element: HTMLElement
  code: Field
  /** What pressing the button does, with the way that is chosen. */
  hint: HTMLElement
  method(): Factor
}

/** Offers only what this person may use for this request, and only what this browser can do. */
export function methodChoice(allowed: readonly Factor[]): MethodChoice {
  const usable = allowed.filter((method) => method !== 'passkey' || passkeysWork())
  let chosen: Factor = usable[0] ?? 'passkey'
  const code = codeField('The 6 digits it shows now. Each code works once.')
  const hint = el('p', { class: 'hint' })
  const update = (): void => {
    hint.textContent =
      chosen === 'totp'
        ? 'Pressing the button decides, with the code you typed.'
        : 'Nothing is decided until you confirm with your passkey.'
    code.row.hidden = chosen !== 'totp'
  }
  const element = el('div', { class: 'method-choice' })
  if (usable.length > 1) {
    const options = usable.map((method) =>
      option(method, method === chosen, () => {
        chosen = method
        update()
        // The prompt of the other way would otherwise stay open, and the form deaf until it is answered.
        stopPrompt()
      }),
    )
    element.append(el('fieldset', {}, el('legend', {}, 'Confirm with'), ...options))
  }
  if (usable.includes('totp')) element.append(code.row)
  update()
  return { element, code, hint, method: () => chosen }
}

function option(method: Factor, checked: boolean, choose: () => void): HTMLElement {
  const label = method === 'passkey' ? 'Passkey' : 'Code from an authenticator app'
  const { row, input } = tick('radio', label, { name: 'method', value: method, checked })
  input.addEventListener('change', choose)
  return row
}

const COMMENT_LIMIT = 1000

/** What the person says to the caller; kept in `draft` while they write. */
export function commentField(draft: { comment: string }, hint: string): Field {
  const comment = field({
    label: 'Comment (optional)',
    name: 'comment',
    hint,
    multiline: true,
    attributes: { maxlength: COMMENT_LIMIT, spellcheck: 'true' },
  })
  const counter = el('p', { class: 'counter' })
  const update = (): void => {
    draft.comment = comment.input.value
    counter.textContent = `${comment.input.value.length} of ${COMMENT_LIMIT} characters`
  }
  comment.input.value = draft.comment
  comment.input.addEventListener('input', update)
  comment.row.append(counter)
  update()
  return comment
}
