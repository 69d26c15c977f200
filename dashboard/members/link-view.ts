import { button } from '../../webauthn-page/kit/dom/button.ts'
import { type Child, el } from '../../webauthn-page/kit/dom/element.ts'
import { moment } from '../../webauthn-page/kit/dom/moment.ts'
import { secretBox } from '../parts/secret-box.ts'
import type { InvitationLink } from './member-shapes.ts'

/** The link, which is shown this once: the service sends no e-mail, so its owner hands it over. */
export function linkView(who: Child, { url, expires_at }: InvitationLink, close: () => void): HTMLElement {
  return el(
    'div',
    { class: 'panel-form' },
    el('h3', {}, 'Hand this link to ', who),
    el(
      'p',
      {},
      'It is shown only now, and works once, until ',
      moment(expires_at),
      '. Give it to them alone, by a way you trust. If they are new here, whoever opens it first signs up in their place; if they have signed up before, they sign in to accept.',
    ),
    secretBox(url, 'the invitation link'),
    el('div', { class: 'buttons' }, button('I have handed it over', 'plain', close)),
  )
}
