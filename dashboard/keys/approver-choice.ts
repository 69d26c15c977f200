import { type Child, el, freshId } from '../../webauthn-page/kit/dom/element.ts'
import { callerText } from '../../webauthn-page/kit/show/caller-text.ts'
import { checkBox } from '../parts/check-box.ts'
import type { PolicyApprover } from './key-shapes.ts'

/** Who of the account's approvers is asked. */
export interface ApproverChoice {
  element: HTMLElement
  /** Undefined: all of them, later ones too. `nobody`: a choice of none, and the fields say so. */
  read(): string[] | undefined | 'nobody'
}

/** @param named those the key names now; undefined for all */
export function approverChoice(
  people: readonly PolicyApprover[],
  named: readonly string[] | undefined,
): ApproverChoice {
  const group = freshId('who')
  const error = el('p', { class: 'field-error', id: `${group}-error` })
  const all = radio(group, 'All approvers of the account', named === undefined)
  const some = radio(group, 'Only these of them', named !== undefined)
  const boxes = people.map(({ user_id, name, email }) => {
    const label = el('span', {}, callerText(name), ' ', el('span', { class: 'kind' }, callerText(email)))
    return { user_id, ...checkBox(label, { checked: named?.includes(user_id) === true }) }
  })
  const list = el('div', { class: 'sub-fields' }, ...boxes.map(({ row }) => row))
  const gone = (named ?? []).filter((id) => !people.some(({ user_id }) => user_id === id)).length
  const follow = (): void => {
    list.hidden = !some.input.checked
    error.replaceChildren()
  }
  for (const { input } of [all, some, ...boxes]) input.addEventListener('change', follow)
  follow()
  const element = el(
    'fieldset',
    { 'aria-describedby': error.id },
    el('legend', {}, 'Who is asked'),
    all.row,
    some.row,
    list,
    gone > 0 && el('p', { class: 'hint' }, goneWords(gone)),
    error,
  )
  return {
    element,
    read() {
      if (!some.input.checked) return undefined
      const chosen = boxes.filter(({ input }) => input.checked).map(({ user_id }) => user_id)
      if (chosen.length > 0) return chosen
      error.textContent = 'Choose at least one approver.'
      boxes[0]?.input.focus()
      return 'nobody'
    },
  }
}

function goneWords(gone: number): string {
  return gone === 1
    ? 'One person this key names is no approver of the account any more and drops out when you save another policy.'
    : `${gone} people this key names are no approvers of the account any more and drop out when you save another policy.`
}

function radio(group: string, label: Child, checked: boolean): { row: HTMLElement; input: HTMLInputElement } {
  const id = freshId('choice')
  const input = el('input', { type: 'radio', name: group, id, checked })
  return { row: el('p', { class: 'check' }, input, ' ', el('label', { for: id }, label)), input }
}
