import { okShape } from '../../webauthn-page/kit/api/contract.ts'
import { get, patch } from '../../webauthn-page/kit/api/request.ts'
import { buttonRow, submitButton } from '../../webauthn-page/kit/dom/button.ts'
import { el, facts, hint } from '../../webauthn-page/kit/dom/element.ts'
import { field, filled, form, NAME_LENGTH } from '../../webauthn-page/kit/dom/form.ts'
import { day, moment } from '../../webauthn-page/kit/dom/moment.ts'
import { membersShape } from '../members/member-shapes.ts'
import { section } from '../parts/section.ts'
import type { Done, PageContext, PageView } from '../shell/page-entry.ts'
import { policySection } from './policy-section.ts'
import { type Account, accountShape, policyShape } from './settings-shapes.ts'

/** `/settings`: the rules of the account, its quota and its name. For its owner. */
export async function settingsPage({ done }: PageContext): Promise<PageView> {
  const [account, policy, { data: members }] = await Promise.all([
    get('/account', accountShape),
    get('/account/policy', policyShape),
    get('/account/members', membersShape),
  ])
  const scene = el(
    'div',
    { class: 'account' },
    el('h1', {}, 'Settings'),
    policySection(policy, members, done),
    quotaSection(account),
    nameSection(account, done),
  )
  return { title: 'Settings', scene }
}

/** What the account is called: approvers see it as where a request comes from. */
function nameSection({ id, name, created_at }: Account, done: Done): HTMLElement {
  const part = section('Account', 'Approvers see its name beside every request.')
  const called = field({
    label: 'Name of the account',
    name: 'name',
    hint: 'Open requests keep the name they were made under.',
    attributes: { maxlength: NAME_LENGTH, autocomplete: 'off', required: true, value: name },
  })
  const save = async (): Promise<void> => {
    const wanted = filled(called, 'Give the account a name.')
    if (wanted === undefined) return
    await patch('/account', { name: wanted }, okShape)
    await done('The account has a new name.')
  }
  part.body.append(
    facts(['Account id', el('code', {}, id)], ['Created', day(created_at)]),
    form(
      { class: 'stacked', 'aria-label': 'Name of the account' },
      () => part.slot.attempt(save, { name: called }),
      called.row,
      buttonRow(submitButton('Save the name', 'plain')),
    ),
  )
  return part.element
}

const NUMBER = new Intl.NumberFormat()
const MONTH = new Intl.DateTimeFormat(undefined, { month: 'long', year: 'numeric', timeZone: 'UTC' })

/** How many requests this month took, of how many. */
function quotaSection({ quota }: Pick<Account, 'quota'>): HTMLElement {
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
      : hint('It begins anew ', moment(resets_at), '.'),
  )
  return part.element
}
