import { el, facts } from '../../webauthn-page/kit/dom/element.ts'
import { moment } from '../../webauthn-page/kit/dom/moment.ts'
import { section } from '../parts/section.ts'
import type { Account } from './settings-shapes.ts'

const NUMBER = new Intl.NumberFormat()
const MONTH = new Intl.DateTimeFormat(undefined, { month: 'long', year: 'numeric', timeZone: 'UTC' })

/** How many requests this month took, of how many. */
export function quotaSection({ quota }: Pick<Account, 'quota'>): HTMLElement {
  const { limit, used, month, resets_at } = quota
  const part = section('Quota', 'Requests of this calendar month in UTC, sandbox requests counted.')
  const name = MONTH.format(new Date(`${month}-01T00:00:00Z`))
  if (limit === 0) {
    part.body.append(facts([name, `${NUMBER.format(used)} requests, without a limit`]))
    return part.element
  }
  const words = `${NUMBER.format(used)} of ${NUMBER.format(limit)} requests`
  const meter = el('progress', {
    class: 'meter',
    max: limit,
    value: Math.min(used, limit),
    'aria-label': words,
  })
  part.body.append(
    facts([name, words]),
    meter,
    used >= limit
      ? el(
          'p',
          { class: 'field-error' },
          'The quota is used up: new requests are refused until ',
          moment(resets_at),
          '. Whoever runs this service can raise it.',
        )
      : el('p', { class: 'hint' }, 'It begins anew ', moment(resets_at), '.'),
  )
  return part.element
}
