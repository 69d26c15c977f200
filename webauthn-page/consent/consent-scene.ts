import type { Consent } from '../kit/api/consent-shapes.ts'
import { type Child, el, link } from '../kit/dom/element.ts'
import { facts } from '../kit/dom/facts.ts'
import { moment } from '../kit/dom/moment.ts'
import { notice } from '../kit/dom/notice.ts'
import { callerQuote } from '../kit/show/caller-quote.ts'
import { callerText } from '../kit/show/caller-text.ts'

/** What the heading asks, or says that came of it. */
export function headingOf({ status, collected, tries_left }: Consent): string {
  if (status === 'pending') return 'Give this caller an API key?'
  if (status === 'approved') return collected === undefined ? 'Approved' : 'The key was collected'
  if (status === 'expired') return 'Expired'
  return tries_left <= 0 ? 'Rejected after three wrong codes' : 'Rejected'
}

/** The whole page of one request for a key; `panel` is what the owner can do, or what came of it. */
export function consentScene(consent: Consent, panel: HTMLElement, message: Child): HTMLElement {
  const open = consent.status === 'pending'
  const text = el(
    'div',
    { class: 'request-text' },
    open &&
      notice(
        'warning',
        'approve only if you started this agent or program yourself, and it shows you the code. Whoever asked for this knows your e-mail address; that is all.',
      ),
    callerQuote(consent.client_name).element,
    statedFacts(consent),
  )
  return el(
    'div',
    { class: open ? 'request open' : 'request settled' },
    message,
    el(
      'div',
      { class: 'request-head' },
      el(
        'p',
        { class: `state ${consent.status}` },
        open ? 'Request for an API key' : `Request for an API key: ${consent.status}`,
      ),
      el('h1', {}, headingOf(consent)),
      el(
        'p',
        { class: 'asker' },
        'Somebody asks for a key of your account. The name in the frame is an unverified name: anybody can call themselves that.',
      ),
    ),
    el('div', { class: 'request-columns' }, ...(open ? [text, panel] : [panel, text])),
  )
}

function statedFacts(consent: Consent): HTMLElement {
  const { requester } = consent
  return el(
    'section',
    { class: 'card', 'aria-labelledby': 'facts-title' },
    el('h2', { id: 'facts-title' }, 'Stated by Countersign'),
    facts(
      ['Asked from', el('span', { class: 'mono' }, requester.address)],
      [
        'Program',
        requester.user_agent === '' ? el('em', {}, 'not said') : callerText(requester.user_agent),
        el('span', { class: 'kind' }, ' by its own word'),
      ],
      ['Asked at', moment(consent.created_at)],
      ['Ends', moment(consent.expires_at)],
      ['The key may', el('ul', { class: 'plain-list' }, ...consent.scopes.map(scopeRow))],
      ['The key may not', 'decide anything, make keys, or change your account'],
      consent.consent && ['You answered', moment(consent.consent.at), ` with a ${consent.consent.method}`],
      consent.collected && [
        'Collected',
        moment(consent.collected.at),
        ...(consent.collected.address === undefined
          ? []
          : [' from ', el('span', { class: 'mono' }, consent.collected.address)]),
      ],
    ),
  )
}

const SCOPES = new Map([
  ['approval:create', 'ask people for approvals in the name of your account'],
  ['approval:read', 'read what became of them'],
  ['approval:verify', 'verify receipts'],
])

function scopeRow(scope: string): HTMLElement {
  const words = SCOPES.get(scope)
  return el('li', {}, ...(words === undefined ? [] : [`${words} `]), el('code', {}, scope))
}

/** What came of it, and what is left to do. */
export function outcomePanel(consent: Consent): HTMLElement {
  return el(
    'section',
    { class: 'panel', 'aria-labelledby': 'panel-title' },
    el('h2', { id: 'panel-title' }, 'State'),
    ...outcome(consent),
  )
}

function outcome({ status, collected, tries_left }: Consent): HTMLElement[] {
  if (status === 'approved' && collected !== undefined)
    return [
      el(
        'p',
        {},
        'The key was given out once, to ',
        el('span', { class: 'mono' }, collected.address ?? 'an unknown address'),
        '. If that was not your agent, revoke the key at once.',
      ),
      el('p', {}, link('/keys', 'See or revoke the key', { class: 'button primary' })),
    ]
  if (status === 'approved')
    return [
      el(
        'p',
        {},
        'The agent gets its key when it asks next, within ten minutes. This page tells when that was, and from where. You can close it.',
      ),
    ]
  if (status === 'expired')
    return [el('p', {}, 'It ran out, or gave way to a newer request. Nobody got a key.')]
  return tries_left <= 0
    ? [
        el(
          'p',
          {},
          'Nobody got a key. If you typed what your agent showed, have it ask again; if somebody told you what to type, tell whoever runs this service.',
        ),
      ]
    : [el('p', {}, 'Nobody got a key.')]
}
