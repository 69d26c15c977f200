import { el } from '../../webauthn-page/kit/dom/element.ts'
import { moment } from '../../webauthn-page/kit/dom/moment.ts'
import { callerText, textWarnings } from '../../webauthn-page/kit/show/caller-text.ts'
import { eventsOf } from './event-words.ts'
import type { Webhook } from './webhook-shapes.ts'

/** Address and state. */
export function webhookTitle({ url, state }: Webhook): HTMLElement {
  return el('p', { class: 'entry-name' }, el('span', { class: 'mono' }, callerText(url)), webhookState(state))
}

export function webhookState(state: Webhook['state']): HTMLElement {
  if (state === 'active') return el('span', { class: 'tag live' }, 'Active')
  return el('span', { class: 'tag warn' }, state === 'disabled' ? 'Switched off' : 'Deleted')
}

/** What it is told, and whatever is unusual about it. */
export function webhookHints(webhook: Webhook): HTMLElement[] {
  const { url, events, state, disabled_at, previous_secret_valid_until: until } = webhook
  const hints = [el('p', { class: 'hint' }, `Told of ${eventsOf(events)}.`), ...textWarnings(url)]
  if (state === 'disabled') {
    hints.push(
      el(
        'p',
        { class: 'text-flag' },
        'Its receiver answered with status 410, gone',
        ...(disabled_at === null ? [] : [', ', moment(disabled_at)]),
        '. Nothing is sent until you switch it on again; what was given up or dropped can be replayed from its log.',
      ),
    )
  }
  if (until !== null) {
    hints.push(
      el(
        'p',
        { class: 'hint' },
        'The secret before the last rotation still signs, too, until ',
        moment(until),
        '.',
      ),
    )
  }
  return hints
}
