import { button } from '../../webauthn-page/dom/button.ts'
import { copyButton } from '../../webauthn-page/dom/copy-button.ts'
import { el, link } from '../../webauthn-page/dom/element.ts'
import { WAITING_ID } from './waiting-section.ts'

export interface NewKey {
  rawKey: string
  sandbox: boolean
}

/** What to know before reading on. */
export function onceOnly(): HTMLElement {
  return el(
    'span',
    {},
    'Copy it now. ',
    el('strong', {}, 'It is shown only this once'),
    ' and cannot be recovered.',
  )
}

/** The raw key, shown once, and the way from a first request to a receipt that was checked. */
export function newKeyView(
  { rawKey, sandbox }: NewKey,
  origin: string,
  done: () => Promise<void>,
): HTMLElement {
  return el(
    'div',
    { class: 'new-key' },
    el(
      'div',
      { class: 'copyable secret-box' },
      el('code', { class: 'mono' }, rawKey),
      copyButton(rawKey, 'the API key'),
    ),
    el('h3', {}, 'Ask for your first approval'),
    el('p', { class: 'hint' }, 'Run this in a terminal. The answer holds the id of the request.'),
    command(ask(rawKey, origin), 'the command that asks for an approval'),
    el('h3', {}, 'What comes next'),
    el(
      'ol',
      { class: 'steps' },
      sandbox
        ? el('li', {}, 'Wait a few seconds: a sandbox request is approved by itself, without a person.')
        : el(
            'li',
            {},
            'The request appears above on this page, under ',
            link(`#${WAITING_ID}`, 'Waiting for you'),
            '. Look at it and decide.',
          ),
      el(
        'li',
        {},
        'Read the decision, with the id in place of ',
        el('code', {}, 'req_…'),
        '. The call answers as soon as somebody decides.',
        command(read(rawKey, origin), 'the command that reads the decision'),
      ),
      el(
        'li',
        {},
        'Check the receipt yourself, in the folder of Countersign:',
        command(verify(origin, sandbox), 'the command that checks the receipt'),
      ),
    ),
    el('div', { class: 'buttons' }, button('I saved the key', 'primary', done)),
  )
}

/** Keeps its lines and scrolls sideways: a command that is broken into other lines cannot be read as one. */
function command(text: string, what: string): HTMLElement {
  return el(
    'div',
    { class: 'copyable secret-box' },
    el('pre', { class: 'command', tabindex: 0, role: 'group', 'aria-label': what }, text),
    copyButton(text, what),
  )
}

function ask(rawKey: string, origin: string): string {
  return [
    `curl -X POST ${origin}/api/v1/approvals/request \\`,
    `  -H 'Authorization: Bearer ${rawKey}' \\`,
    `  -H 'Content-Type: application/json' \\`,
    `  -d '{"action": "Deploy version 1.4.2 to production"}'`,
  ].join('\n')
}

function read(rawKey: string, origin: string): string {
  return [
    `curl '${origin}/api/v1/approvals/req_…/wait?timeout=25' \\`,
    `  -H 'Authorization: Bearer ${rawKey}' > decision.json`,
  ].join('\n')
}

function verify(origin: string, sandbox: boolean): string {
  const keys = `--jwks ${origin}/.well-known/jwks.json`
  return ['npx countersign verify decision.json \\', `  ${keys}${sandbox ? ' --allow-sandbox' : ''}`].join(
    '\n',
  )
}
