import type { ChatIdentity, Platform } from '../../webauthn-page/kit/api/contract.ts'
import { el, link } from '../../webauthn-page/kit/dom/element.ts'
import { chatName, typed } from '../../webauthn-page/kit/show/chat.ts'
import type { PageContext } from '../shell/page-entry.ts'

/** As whom the person is known on a platform, or how to become known there. */
export function linkedPerson(
  platform: Platform,
  identities: readonly ChatIdentity[],
  { href }: PageContext,
): HTMLElement {
  const names = identities.map(({ person, key }) => chatName(person ?? key))
  if (names.length === 0) {
    return el(
      'p',
      {},
      'You are not linked there yet: type ',
      ...typed({ platform, kind: 'link' }),
      ', and open the link you get on this browser. Cards find you by your e-mail address until then; commands do not.',
    )
  }
  return el(
    'p',
    {},
    'You are linked as ',
    ...names.flatMap((name, index) => (index === 0 ? [name] : [', ', name])),
    '; unlink on ',
    link(href('/account'), 'your account page'),
    '.',
  )
}
