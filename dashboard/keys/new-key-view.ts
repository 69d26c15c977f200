import { button } from '../../webauthn-page/kit/dom/button.ts'
import { el, link } from '../../webauthn-page/kit/dom/element.ts'
import { askCommand, command, rawKeyBox } from '../parts/key-commands.ts'
import type { Key } from './key-shapes.ts'
import { secretOnDemand } from './secret-on-demand.ts'

export interface NewKey {
  rawKey: string
  /** Whether the account had none before. */
  first: boolean
  key: Pick<Key, 'id' | 'sandbox'>
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
  { rawKey, first, key: { id, sandbox } }: NewKey,
  origin: string,
  done: () => Promise<void>,
): HTMLElement {
  return el(
    'div',
    { class: 'new-key' },
    rawKeyBox(rawKey),
    el('h3', {}, first ? 'Ask for your first approval' : 'Ask for an approval'),
    el('p', { class: 'hint' }, 'Run this in a terminal. The answer holds the id of the request.'),
    command(askCommand(rawKey, origin), 'the command that asks for an approval'),
    el('h3', {}, 'What comes next'),
    el(
      'ol',
      { class: 'steps' },
      sandbox
        ? el('li', {}, 'Wait a few seconds: a sandbox request is approved by itself, without a person.')
        : el(
            'li',
            {},
            'The request appears in your ',
            link('/', 'inbox'),
            ' by itself. Look at it and decide.',
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
    el('h3', {}, 'If it is told by callback'),
    secretOnDemand(id),
    el('div', { class: 'buttons' }, button('I saved the key', 'primary', done)),
  )
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
