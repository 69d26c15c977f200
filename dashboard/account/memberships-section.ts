import { visibleString } from '../../src/domain/text.ts'
import { okShape } from '../../webauthn-page/kit/api/contract.ts'
import { post } from '../../webauthn-page/kit/api/request.ts'
import { button } from '../../webauthn-page/kit/dom/button.ts'
import { el } from '../../webauthn-page/kit/dom/element.ts'
import { callerText } from '../../webauthn-page/kit/show/caller-text.ts'
import { roleName } from '../members/role-words.ts'
import { askFirst } from '../parts/ask-first.ts'
import { type Section, section } from '../parts/section.ts'
import type { AccountView } from '../shell/account-view.ts'

/** Accounts of others in which the person works; undefined when there are none. */
export function membershipsSection(
  accounts: readonly AccountView[],
  done: (message: string) => Promise<void>,
): HTMLElement | undefined {
  const joined = accounts.filter(({ own }) => !own)
  if (joined.length === 0) return undefined
  const part = section('Accounts of others', 'Their owners invited you. You can leave at any time.')
  part.body.append(el('ul', { class: 'entries' }, ...joined.map((account) => row(part, account, done))))
  return part.element
}

function row(
  part: Section,
  { id, name, role }: AccountView,
  done: (message: string) => Promise<void>,
): HTMLElement {
  const leave = async (): Promise<void> => {
    part.slot.clear()
    const sure = await askFirst(
      'Leave this account?',
      'Leave',
      callerText(name),
      ' names you in no new request. You can still decide open ones that name you. Only its owner can invite you again.',
    )
    if (!sure) return
    try {
      await post(`/me/memberships/${id}/leave`, {}, okShape)
      await done('You have left the account.')
    } catch (error) {
      part.slot.fail(error)
    }
  }
  return el(
    'li',
    { class: 'entry' },
    el(
      'div',
      {},
      el('p', { class: 'entry-name' }, callerText(name), el('span', { class: 'tag' }, roleName(role))),
    ),
    button('Leave', 'quiet', leave, { 'aria-label': `Leave the account ${visibleString(name)}` }),
  )
}
