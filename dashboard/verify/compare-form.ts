import type { VerificationKey } from '../../src/signing/key-record.ts'
import type { ReceiptInput } from '../../src/signing/receipt-input.ts'
import { submitButton } from '../../webauthn-page/kit/dom/button.ts'
import { el, hint } from '../../webauthn-page/kit/dom/element.ts'
import { field, form } from '../../webauthn-page/kit/dom/form.ts'
import { type NoticeKind, notice } from '../../webauthn-page/kit/dom/notice.ts'
import { type Comparison, compareAction, compareContext } from './check-receipts.ts'
import { WEAK_HASH } from './verdict.ts'

type Said = readonly [kind: NoticeKind, sentence: string]

/** Lets people enter an action and details and tells whether they are what this receipt is about. */
export function compareForm(receipt: ReceiptInput, keys: readonly VerificationKey[]): HTMLElement {
  const action = field({
    label: 'Action',
    name: 'compared-action',
    multiline: true,
    hint: 'The text that should have been decided on, letter by letter.',
    attributes: { rows: 2, autocomplete: 'off' },
  })
  const context = field({
    label: 'Details (context), as JSON',
    name: 'compared-context',
    multiline: true,
    hint: 'Optional. Blanks between the fields and the order of the fields do not matter.',
    attributes: { rows: 3, autocomplete: 'off' },
  })
  const answers = el('div', { class: 'compared', role: 'status' })
  const compare = async (): Promise<void> => {
    const said: Said[] = []
    if (action.input.value !== '')
      said.push(actionWords(await compareAction(receipt, keys, action.input.value)))
    if (context.input.value.trim() !== '')
      said.push(contextWords(await compareContext(receipt, keys, context.input.value)))
    if (said.length === 0) said.push(['info', 'Enter an action, or details, first.'])
    answers.replaceChildren(...said.map(([kind, sentence]) => notice(kind, sentence)))
  }
  return el(
    'details',
    { class: 'exact' },
    el('summary', {}, 'Is it the action that I know of?'),
    el(
      'div',
      { class: 'exact-body' },
      hint('What you enter stays in this browser, too.'),
      form({}, compare, action.row, context.row, submitButton('Compare', 'plain'), answers),
    ),
  )
}

function actionWords(comparison: Comparison): Said {
  const blanks =
    'trimmed' in comparison && comparison.trimmed ? ' The blanks around your text do not count.' : ''
  switch (comparison.as) {
    case 'same':
      return ['success', `This is exactly the action that was decided on.${blanks}`]
    case 'fits':
      return ['warning', `Probably the same, but this cannot be proven here. ${WEAK_HASH}${blanks}`]
    default:
      return [
        'error',
        'This is not the action that was decided on. Every letter, blank and line break counts.',
      ]
  }
}

function contextWords({ as }: Comparison): Said {
  switch (as) {
    case 'same':
      return ['success', 'These are exactly the details that were decided on.']
    case 'no-json':
      return ['error', 'The details are not a JSON object, such as {"amount": 12}.']
    case 'open':
      return [
        'warning',
        'The details cannot be compared: the statement is not next to this receipt. The caller’s answer of GET /api/v1/approvals/:id has it.',
      ]
    default:
      return ['error', 'These are not the details that were decided on.']
  }
}
