import { framed } from './caller-parts.ts'
import { bold, type CardPart, code, italic, moment, ours, type Piece, words } from './card-parts.ts'
import { durationWords, methodWord } from './card-words.ts'
import type { ConsentStatus, ConsentView } from './consent-view.ts'

/** Signs beside the words, never instead of them. */
export const CONSENT_SIGNS: Record<ConsentStatus['kind'], string> = {
  pending: '🔑',
  approved: '✅',
  rejected: '❌',
  expired: '⌛',
  collected: '🔑',
}

/** The first line of the card: the words of the hosted page. */
export function consentHeading({ status }: ConsentView): string {
  switch (status.kind) {
    case 'pending':
      return 'Give this caller an API key?'
    case 'approved':
      return 'Approved: the agent can collect its key'
    case 'rejected':
      return status.by_owner === undefined ? 'Rejected after three wrong codes' : 'Rejected'
    case 'expired':
      return 'Expired: nobody got a key'
    case 'collected':
      return 'The API key was collected'
  }
}

/** What notifications and screen readers say first: our words, nothing that the caller wrote (T41). */
export function consentSummary(view: ConsentView): string {
  return view.status.kind === 'pending'
    ? 'Somebody asks for an API key of your account.'
    : `${consentHeading(view)}.`
}

/** How the link says what it opens: a click decides nothing. */
export function consentLink({ status }: ConsentView): string {
  if (status.kind === 'pending') return 'Look and decide…'
  return status.kind === 'collected' ? 'See who collected it' : 'Details on the consent page'
}

const NAME_LENGTH = 200

/** Below the lines of ours stands the caller's name in its frame, and nothing else that they wrote (T44). */
export function consentParts(view: ConsentView): CardPart[] {
  const warning =
    view.look_alike === undefined ? [] : [[bold('⚠️ Look-alike letters. '), words(view.look_alike)]]
  return [
    ours(...statusLines(view), ...warning),
    ours([bold('Unverified name'), italic(' · written by the caller, not checked by Countersign')]),
    ...framed(view.client_name, NAME_LENGTH),
  ]
}

/** What to mind, as long as there is something to decide. */
export function consentAdvice({ status, request_id }: ConsentView, platform: string): string {
  if (status.kind !== 'pending') return request_id
  return `Approve only if you started this agent and it shows you a code; the consent page asks for it. Nothing is decided in ${platform}. ${request_id}`
}

function statusLines({ status, ...view }: ConsentView): Piece[][] {
  const asked = [bold('Asked from: '), code(view.requested_from)]
  switch (status.kind) {
    case 'pending': {
      const time = durationWords(view.expires_at.getTime() - view.created_at.getTime())
      return [
        asked,
        [bold('The key may: '), words(view.scopes.map((scope) => SCOPE_WORDS[scope]).join('; '))],
        [bold('Open until: '), moment(view.expires_at), words(` · ${time} to decide`)],
      ]
    }
    case 'approved':
      return [...answered('Approved: ', status), asked]
    case 'rejected':
      return [...(status.by_owner === undefined ? [] : answered('Rejected: ', status.by_owner)), asked]
    case 'expired':
      return [[bold('Open until: '), moment(view.expires_at)], asked]
    case 'collected':
      return [
        [bold('Collected: '), moment(status.at)],
        ...(status.address === undefined ? [] : [[bold('Collected from: '), code(status.address)]]),
        asked,
        [words('Is that not where your agent runs? Revoke the key on your page of API keys at once.')],
      ]
  }
}

function answered(word: string, { at, method }: { at: Date; method: string }): Piece[][] {
  return [
    [bold(word), moment(at)],
    [bold('Method: '), words(methodWord(method))],
  ]
}

const SCOPE_WORDS: Record<ConsentView['scopes'][number], string> = {
  'approval:create': 'ask for approvals in the name of your account',
  'approval:read': 'read what became of them',
  'approval:verify': 'verify receipts',
}
