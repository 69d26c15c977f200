import type { Examination } from '../../src/signing/examine-receipt.ts'
import { el } from '../../webauthn-page/kit/dom/element.ts'
import type { JsonValue } from '../../webauthn-page/kit/show/caller-text.ts'
import { callerQuote, valueTree } from '../../webauthn-page/kit/show/caller-text.ts'
import { openedIntent } from './opened-intent.ts'

/** The action, and the details, that were decided on: from the opened statement, or with the doubt said. */
export function approvedWords(examination: Examination): HTMLElement | undefined {
  const intent = openedIntent(examination)
  const claimed = examination.input?.claims.find(({ field }) => field === 'action')?.value
  const action = intent?.action ?? (typeof claimed === 'string' ? claimed : undefined)
  if (action === undefined) return undefined
  return el(
    'section',
    { class: 'card', 'aria-labelledby': 'words-title' },
    el('h3', { id: 'words-title' }, 'What was decided on'),
    el(
      'p',
      { class: 'hint' },
      intent === undefined
        ? 'As it stands next to the receipt. It fits the short hash of 64 bits, which is a hint and no proof.'
        : 'The signature covers exactly this text. Whether it is true what the text says, nobody has checked.',
    ),
    callerQuote(action).element,
    detailsOf(examination),
  )
}

/** Only details that are proven are shown. */
function detailsOf({ input, outcomes }: Examination): HTMLElement | undefined {
  if (input?.context === undefined || outcomes.get('context') !== 'passed') return undefined
  const context: JsonValue = JSON.parse(input.context)
  return el(
    'details',
    { class: 'exact' },
    el('summary', {}, 'Details (context), exactly as decided on'),
    el('div', { class: 'caller-box details-box' }, valueTree(context)),
  )
}
