import type { Examination } from '../../src/signing/examine-receipt.ts'
import { el } from '../../webauthn-page/kit/dom/element.ts'
import { type CheckLine, checkLines } from './check-words.ts'

const STATES: Record<CheckLine['state'], string> = {
  passed: 'Passed',
  failed: 'Failed',
  absent: 'Nothing to check',
  unmade: 'Not checked',
  'dry-run': 'Dry-run',
}

/** Every check with its result, in words as well as in colour. */
export function checkList(examination: Examination): HTMLElement {
  return el(
    'ol',
    { class: 'checks' },
    ...checkLines(examination).map(({ state, name, sentence }) =>
      el(
        'li',
        { class: `check-line ${state}` },
        el('span', { class: 'check-state' }, STATES[state]),
        ' ',
        el('div', {}, el('strong', {}, name), ' ', el('span', { class: 'check-words' }, sentence)),
      ),
    ),
  )
}
