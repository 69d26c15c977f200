import { okShape } from '../../webauthn-page/kit/api/contract.ts'
import { get, patch, put, RequestFailure } from '../../webauthn-page/kit/api/request.ts'
import { buttonRow, submitButton } from '../../webauthn-page/kit/dom/button.ts'
import { type Child, div, el, facts, hint, kind } from '../../webauthn-page/kit/dom/element.ts'
import { field, filled, form, type Marked, nameField, wrong } from '../../webauthn-page/kit/dom/form.ts'
import { day, moment } from '../../webauthn-page/kit/dom/moment.ts'
import { confirmed, type Proof } from '../../webauthn-page/kit/passkey/step-up.ts'
import { callerName, callerText } from '../../webauthn-page/kit/show/caller-text.ts'
import { type Member, membersShape } from '../members/member-shapes.ts'
import { checkBox, choiceField, quorumField, readQuorum } from '../parts/fields.ts'
import { type Section, section } from '../parts/section.ts'
import { carryChanges } from '../parts/unsaved.ts'
import { volumeFields } from '../parts/volumes.ts'
import type { Done, PageContext, PageView } from '../shell/page-entry.ts'
import { policyWarnings, waysOut } from './policy-warnings.ts'
import { expirySection, reasonsSection } from './request-rules.ts'
import { type Account, accountShape, type Policy, policyShape } from './settings-shapes.ts'

/** `/settings`: the rules of the account, its quota and its name. For its owner. */
export async function settingsPage({ user, done }: PageContext): Promise<PageView> {
  const [account, policy, { data: members }] = await Promise.all([
    get('/account', accountShape),
    get('/account/policy', policyShape),
    get('/account/members', membersShape),
  ])
  const scene = div(
    'account',
    el('h1', {}, 'Settings'),
    policySection(policy, members, done).element,
    expirySection(user, done),
    reasonsSection(account, done),
    quotaSection(account),
    volumesSection(account, done),
    nameSection(account, done),
  )
  return { title: 'Settings', scene, wide: true }
}

/** The account's name, which approvers see beside every request. */
function nameSection({ id, name, names_in_channels, created_at }: Account, done: Done): HTMLElement {
  const part = section('Account', 'Approvers see its name beside every request.')
  const called = nameField('Name of the account', 'Pending requests keep the name they were made under.', {
    required: true,
    value: name,
  })
  const save = async (): Promise<void> => {
    const wanted = filled(called, 'Give the account a name.')
    if (wanted === undefined) return
    await patch('/account', { name: wanted }, okShape)
    await done('The account has a new name.')
  }
  const names = checkBox('Show names in channels', {
    hint: 'Cards in channels then name the approvers and who decided. Otherwise they show references.',
    checked: names_in_channels,
  })
  names.input.addEventListener('change', () => {
    const wanted = names.input.checked
    void part.slot.attempt(async () => {
      await patch('/account', { names_in_channels: wanted }, okShape)
      part.slot.show('success', `Channels show ${wanted ? 'names' : 'references'} from now on.`)
    })
  })
  part.body.append(
    facts(['Account id', el('code', {}, id)], ['Created', day(created_at)]),
    form(
      { class: 'stacked', 'aria-label': 'Name of the account' },
      () => part.slot.attempt(save, { name: called }),
      called.row,
      buttonRow(submitButton('Save the name')),
    ),
    names.row,
  )
  return part.element
}

/** What people hear of the account's requests who chose nothing themselves. */
function volumesSection({ volumes }: Account, done: Done): HTMLElement {
  const part = section('Who hears what', 'For people who chose nothing themselves under Account.')
  const fields = volumeFields(volumes, true)
  const save = async (): Promise<void> => {
    await patch('/account', { volumes: fields.read() }, okShape)
    await done('What people hear is saved.')
  }
  part.body.append(
    form(
      { class: 'stacked', 'aria-label': 'Who hears what' },
      () => part.slot.attempt(save),
      fields.element,
      buttonRow(submitButton('Save what people hear')),
    ),
  )
  return part.element
}

const NUMBER = new Intl.NumberFormat()
const MONTH = new Intl.DateTimeFormat(undefined, { month: 'long', year: 'numeric', timeZone: 'UTC' })

/** The requests of this month, and their limit. */
function quotaSection({ quota }: Pick<Account, 'quota'>): HTMLElement {
  const { limit, used, month, resets_at } = quota
  const part = section('Quota', 'Requests of this calendar month in UTC, including sandbox requests.')
  const name = MONTH.format(new Date(`${month}-01T00:00:00Z`))
  if (limit === 0) {
    part.body.append(facts([name, `${NUMBER.format(used)} requests, without a limit`]))
    return part.element
  }
  const words = `${NUMBER.format(used)} of ${NUMBER.format(limit)} requests`
  const meter = el('progress', {
    class: used < limit ? 'meter' : 'meter full',
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
          '. The operator of this service can raise it.',
        )
      : hint('It resets ', moment(resets_at), '.'),
  )
  return part.element
}

/** The rules for who decides, and how. Open requests keep the policy they were made under. */
function policySection(policy: Policy, members: readonly Member[], done: Done): Section {
  const part = section(
    'Policy',
    'Who decides requests of this account. Changes apply to new requests; one rejection always rejects.',
  )
  const who = approverBoxes(policy, members)
  const offered = policy.can_attest === true || policy.authenticators !== undefined
  const quorum = quorumField('Approvals needed', 'How many different people must approve.', policy.quorum)
  const flags = flagBoxes(policy)
  const which = authenticatorsField(policy.authenticators ?? null)
  const reminders = reminderField(policy.reminders)
  const save = async (): Promise<void> => {
    const approvers = who.read()
    const needed = readQuorum(quorum, Math.max(1, approvers.length), 'Only one person is ticked')
    const reminded = reminders.read()
    const counted = which.read()
    if (needed === undefined || reminded === undefined || counted === undefined) return
    const rules = {
      approvers,
      quorum: needed,
      ...flags.read(),
      reminders: reminded,
      ...(offered ? { authenticators: counted.rule } : {}),
    }
    // A page that was open since before would undo, unseen, what was set elsewhere.
    const [now, { data: people }] = await Promise.all([
      get('/account/policy', policyShape),
      get('/account/members', membersShape),
    ])
    const changed = setElsewhere(policy, now, people)
    if (changed !== undefined) return showNewer(part, policySection(now, people, done), changed)
    const send = (proof?: Proof) =>
      put('/account/policy', { ...rules, proof }, policyShape).catch((error: unknown) => {
        if (!(error instanceof RequestFailure && error.code === 'no_eligible_approver')) throw error
        throw new Error(`with this policy no one could approve anything. ${waysOut(rules.confirmed_only)}`)
      })
    const saved = await confirmed(policyPurpose(rules, members), send, 'policy.change')
    if (saved !== undefined) await done('The policy is saved.')
  }
  part.body.append(
    ...policyWarnings(policy),
    form(
      { class: 'stacked', 'aria-label': 'Policy' },
      () => part.slot.attempt(save, { quorum, reminders, authenticators: which }),
      who.element,
      quorum.row,
      ...flags.rows,
      offered && which.row,
      reminders.row,
      buttonRow(submitButton('Save the policy')),
    ),
  )
  return part
}

/** Returns the rules that are other by now than when the page was drawn; undefined if none is. */
function setElsewhere(drawn: Policy, now: Policy, members: readonly Member[]): Child[] | undefined {
  const [before, after] = [drawn, now].map(({ approvers, authenticators = null, ...rules }) =>
    ruleLines({ ...rules, authenticators, approvers: approvers.map(({ user_id }) => user_id) }, members),
  )
  const written = (line?: Child[]) => el('p', {}, ...(line ?? [])).textContent
  const changed = after?.filter((line, index) => written(line) !== written(before?.[index])) ?? []
  return changed.length > 0 ? changed.flat() : undefined
}

/** Puts the section of the newer policy in the place of the old one, with the fields that were changed in this page only. */
function showNewer(old: Section, newer: Section, changed: Child[]): void {
  // Both must be in the document: elsewhere, fields have no labels, by which they are found.
  old.element.after(newer.element)
  carryChanges(old.body, newer.body)
  old.element.remove()
  newer.slot.show(
    'error',
    'the policy was changed elsewhere in the meantime. ',
    ...changed,
    'The form now shows that policy with your changes in it. Check it, and save again.',
  )
  newer.element.querySelector<HTMLElement>('.notice')?.focus()
}

/** The rules of the policy that are either on or off. */
function flagBoxes(policy: Policy) {
  const passkeys = checkBox('Passkeys only', {
    hint: 'A code from an authenticator app is not accepted for a decision.',
    checked: policy.passkey_only,
  })
  const impact = checkBox('Every request is high impact', {
    hint: 'Approvers who have a passkey must use it. Callers can also mark single requests.',
    checked: policy.high_impact,
  })
  const confirmed = checkBox('Only people the operator confirmed', {
    hint: 'People you invited yourself do not count until the operator of this service confirms them (countersign user confirm).',
    checked: policy.confirmed_only,
  })
  return {
    rows: [passkeys.row, impact.row, confirmed.row],
    read: () => ({
      passkey_only: passkeys.input.checked,
      high_impact: impact.input.checked,
      confirmed_only: confirmed.input.checked,
    }),
  }
}

/** A policy as it is sent: people by their ids; none means the owner alone. */
type Rules = Omit<Policy, 'approvers' | 'reachable' | 'can_attest' | 'authenticators'> & {
  approvers: readonly string[]
  authenticators?: Rule
}

/** Names every rule in the confirmation: a person who sits down at an open page must not slip in a change (T34). */
function policyPurpose(rules: Rules, members: readonly Member[]): Child[] {
  return ['Confirm the new policy of the account. ', ...ruleLines(rules, members).flat()]
}

/** Each rule in words, always in the same order. */
function ruleLines(rules: Rules, members: readonly Member[]): Child[][] {
  const { approvers, quorum, passkey_only, high_impact, confirmed_only, authenticators, reminders } = rules
  const named = members.filter(({ user_id, role }) =>
    approvers.length === 0 ? role === 'owner' : approvers.includes(user_id),
  )
  const percents = reminders.map((fraction) => `${Math.round(fraction * 100)} %`).join(', ')
  return [
    [
      'Approvers: ',
      ...named.flatMap(({ name }, index): Child[] => [index > 0 && ', ', callerName(name)]),
      '. ',
    ],
    ['Approvals needed: ', el('strong', {}, `${quorum}`), '. '],
    ['Passkeys only: ', yesNo(passkey_only), '. '],
    ['Every request is high impact: ', yesNo(high_impact), '. '],
    ['Only people the operator confirmed: ', yesNo(confirmed_only), '. '],
    authenticators === undefined ? [] : ['Passkeys: ', el('strong', {}, ruleWords(authenticators)), '. '],
    [`Reminders: ${percents === '' ? 'none' : percents}. `],
  ]
}

function yesNo(said: boolean): HTMLElement {
  return el('strong', {}, said ? 'yes' : 'no')
}

/** The choice of approvers; `read` returns user ids. No ticked box means the owner alone. */
function approverBoxes(policy: Policy, members: readonly Member[]) {
  const able = members.filter(({ role, state }) => role !== 'auditor' && state === 'active')
  const named = new Set(policy.approvers.map(({ user_id }) => user_id))
  const boxes = able.map(({ user_id, name, email, role, has_passkey, has_totp }) => {
    const you = role === 'owner' && ' (you)'
    const label = el('span', {}, callerText(name), you, ' ', kind(callerText(email)))
    const hint = has_passkey
      ? undefined
      : has_totp
        ? 'codes, no passkey'
        : 'no passkey and no code that works'
    const checked = named.size === 0 ? role === 'owner' : named.has(user_id)
    return { user_id, ...checkBox(label, { checked, ...(hint === undefined ? {} : { hint }) }) }
  })
  const element = el(
    'fieldset',
    {},
    el('legend', {}, 'Approvers'),
    hint(
      able.length === 1
        ? 'Invite people on the members page to name more.'
        : 'If no one is ticked, you alone decide.',
    ),
    ...boxes.map(({ row }) => row),
  )
  return {
    element,
    read: () => boxes.filter(({ input }) => input.checked).map(({ user_id }) => user_id),
  }
}

/** The most automatic reminders of a request. */
const MOST = 2

/** The times of automatic reminders, in percent of a request's lifetime. */
function reminderField(reminders: readonly number[]) {
  const reminded = field({
    label: 'Reminders',
    name: 'reminders',
    hint: `In percent of the time until expiry, such as “50, 90”. At most ${MOST}; empty for none.`,
    attributes: {
      autocomplete: 'off',
      maxlength: 40,
      class: 'input list-input',
      value: reminders.map((fraction) => Math.round(fraction * 100)).join(', '),
    },
  })
  /** Reads fractions in ascending order; undefined if the input is wrong, which the field then says. */
  const read = (): number[] | undefined => {
    const said = reminded.input.value.split(/[\s,;%]+/).filter((part) => part !== '')
    const percents = [...new Set(said.map(Number))].sort((a, b) => a - b)
    const good = percents.every((percent) => Number.isInteger(percent) && percent >= 1 && percent <= 99)
    if (good && percents.length <= MOST) return percents.map((percent) => percent / 100)
    return wrong(reminded, `Enter up to ${MOST} whole numbers from 1 to 99, or nothing.`)
  }
  return { ...reminded, read }
}

/** The passkeys that count; null for any. */
type Rule = NonNullable<Policy['authenticators']> | null

const AAGUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/

/** The choice between any passkey, those whose make is proven, and certain models of these. */
function authenticatorsField(rule: Rule) {
  const kind = choiceField({
    label: 'Authenticators',
    name: 'authenticators',
    choices: [
      ['any', 'Any passkey'],
      ['attested', 'Only those of a verified model'],
      ['models', 'Only these verified models'],
    ],
    value: rule === null ? 'any' : rule === 'attested' ? rule : 'models',
  })
  const models = field({
    label: 'Models',
    name: 'models',
    hint: 'AAGUIDs, as your own and the members’ passkeys name them. Codes do not count either; your own passkey must be one of these.',
    attributes: {
      autocomplete: 'off',
      class: 'input list-input',
      value: Array.isArray(rule) ? rule.join(', ') : '',
    },
  })
  const follow = (): void => {
    models.row.hidden = kind.input.value !== 'models'
  }
  kind.input.addEventListener('change', follow)
  follow()
  /** Reads the rule; undefined if the input is wrong, which the field then says. */
  const read = (): { rule: Rule } | undefined => {
    if (kind.input.value === 'any') return { rule: null }
    if (kind.input.value === 'attested') return { rule: 'attested' }
    const listed = models.input.value
      .toLowerCase()
      .split(/[\s,;]+/)
      .filter((part) => part !== '')
    if (listed.length > 0 && listed.every((one) => AAGUID.test(one))) return { rule: [...new Set(listed)] }
    return wrong(models, 'Enter AAGUIDs, such as ee882879-721c-4913-9775-3dfcce97072a.')
  }
  const seen = (): Marked => (models.row.hidden ? kind : models)
  return {
    row: div('', kind.row, models.row),
    read,
    get input() {
      return seen().input
    },
    setError: (message?: string) => seen().setError(message),
  }
}

/** The rule in the words of the confirmation. */
function ruleWords(rule: Rule): string {
  if (rule === null) return 'any'
  return rule === 'attested' ? 'only those of a verified model' : `only ${rule.join(', ')}, proven`
}
