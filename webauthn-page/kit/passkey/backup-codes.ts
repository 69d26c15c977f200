import { button } from '../dom/button.ts'
import { copyButton } from '../dom/copy-button.ts'
import { downloadButton } from '../dom/download-button.ts'
import { el, freshId } from '../dom/element.ts'
import { noticeSlot } from '../dom/notice.ts'

/** The ten one-time codes, shown once; `done` is called only after the person said that they are saved. */
export function backupCodes(codes: readonly string[], done: () => void): HTMLElement {
  const text = `${codes.join('\n')}\n`
  const slot = noticeSlot()
  const id = freshId('saved')
  const saved = el('input', { type: 'checkbox', id })
  const proceed = button('Continue', 'primary', () => {
    if (saved.checked) return done()
    slot.show('warning', 'Save the codes first, then tick “I saved them”. They are not shown again.')
    saved.focus()
  })
  return el(
    'section',
    { class: 'card', 'aria-label': 'Backup codes' },
    el(
      'p',
      {},
      'Each code signs you in once when your phone is gone. They never approve anything. ',
      el('strong', {}, 'They are shown only now.'),
    ),
    el('ul', { class: 'backup-codes' }, ...codes.map((code) => el('li', {}, el('code', {}, code)))),
    el(
      'div',
      { class: 'buttons' },
      copyButton(text, 'all backup codes'),
      downloadButton('Download', 'countersign-backup-codes.txt', 'text/plain', text),
    ),
    el('p', { class: 'check' }, saved, ' ', el('label', { for: id }, 'I saved them')),
    slot.element,
    proceed,
  )
}
