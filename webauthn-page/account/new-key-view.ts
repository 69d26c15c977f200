import { button } from '../dom/button.ts'
import { copyButton } from '../dom/copy-button.ts'
import { el, link } from '../dom/element.ts'
import { WAITING_ID } from './waiting-section.ts'

export interface NewKey {
  rawKey: string
  sandbox: boolean
}

/** The raw key, shown once, with a first request that is ready to run. */
export function newKeyView(
  { rawKey, sandbox }: NewKey,
  origin: string,
  done: () => Promise<void>,
): HTMLElement {
  const command = firstRequest(rawKey, origin)
  const next = sandbox
    ? 'Run this in a terminal. A sandbox request is approved by itself after a few seconds.'
    : el(
        'span',
        {},
        'Run this in a terminal. The request will appear on this page, under ',
        link(`#${WAITING_ID}`, 'Waiting for you'),
        ': look at it there and decide.',
      )
  return el(
    'div',
    { class: 'new-key' },
    el('p', {}, 'Copy it now. ', el('strong', {}, 'It is shown only this once'), ' and cannot be recovered.'),
    el(
      'div',
      { class: 'copyable secret-box' },
      el('code', { class: 'mono' }, rawKey),
      copyButton(rawKey, 'the API key'),
    ),
    el('h4', {}, 'Ask for your first approval'),
    el('p', { class: 'hint' }, next),
    el(
      'pre',
      { class: 'command', tabindex: 0, role: 'group', 'aria-label': 'Command that asks for an approval' },
      command,
    ),
    el(
      'div',
      { class: 'buttons' },
      copyButton(command, 'the command'),
      button('I saved the key', 'primary', done),
    ),
  )
}

/** The call of the README, with this key and this service. */
function firstRequest(rawKey: string, origin: string): string {
  return [
    `curl -X POST ${origin}/api/v1/approvals/request \\`,
    `  -H 'Authorization: Bearer ${rawKey}' \\`,
    `  -H 'Content-Type: application/json' \\`,
    `  -d '{"action": "Deploy version 1.4.2 to production"}'`,
  ].join('\n')
}
