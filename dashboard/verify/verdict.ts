import type { ReceiptPayload } from '../../src/domain/receipt.ts'
import type { Report } from './check-receipts.ts'
import { whoActed } from './opened-intent.ts'

/** The first thing people are told. */
export interface Verdict {
  kind: 'approved' | 'rejected' | 'sandbox' | 'invalid'
  heading: string
  /** Stands behind the heading: when it was decided, milliseconds. */
  at?: number
  sentence: string
  /** What to mind although the receipt holds. */
  cautions: string[]
}

/** The verdict on everything that was brought: one false vote spoils the rest. */
export function verdictOf(report: Report): Verdict {
  const { main, disagreement } = report
  if (!main.result.valid) return invalid(main.result.message)
  if (disagreement !== undefined) return invalid(disagreement)
  const { payload } = main.result
  const at = payload.ts * 1000
  if (main.result.sandbox || report.votes.some(({ result }) => result.valid && result.sandbox)) {
    return {
      kind: 'sandbox',
      heading: `Not valid for production: a dry-run ${payload.decision} this`,
      at,
      sentence:
        'The signature is genuine, but it was made in the sandbox. No person was asked. Do not act on it.',
      cautions: cautionsOf(report),
    }
  }
  return {
    kind: payload.decision,
    heading: `Valid: ${payload.decision} by ${whoDecided(report, payload)}`,
    at,
    sentence:
      payload.decision === 'approved' && report.votes.length > 1 ? ALL_APPROVED : SENTENCES[payload.decision],
    cautions: cautionsOf(report),
  }
}

const SENTENCES: Record<ReceiptPayload['decision'], string> = {
  approved: 'The receipt is genuine: a person approved this request.',
  rejected: 'The receipt is genuine: a person rejected this request. It is no permission.',
}

const ALL_APPROVED = 'Every vote is genuine: these people approved this request.'

function invalid(reason: string): Verdict {
  return { kind: 'invalid', heading: 'Not valid: do not act on it', sentence: reason, cautions: [] }
}

/** People are named by their reference: receipts hold no names. */
function whoDecided({ main, votes }: Report, payload: ReceiptPayload): string {
  const alike = votes.flatMap((vote) =>
    vote.result.valid && vote.result.payload.decision === payload.decision
      ? [whoActed(vote, vote.result.payload)]
      : [],
  )
  return alike.length < 2 ? whoActed(main, payload) : `${alike.length} people (${alike.join(', ')})`
}

function cautionsOf({ main, votes }: Report): string[] {
  const results = [main, ...votes].flatMap(({ result }) => (result.valid ? [result] : []))
  const revoked = results.find(({ keyRevokedAt }) => keyRevokedAt !== undefined)?.keyRevokedAt
  const unseen = main.input?.context !== undefined && main.outcomes.get('context') !== 'passed'
  const cautions = [
    revoked &&
      `The key was revoked later, at ${revoked.toISOString()}. A thief could have back-dated this receipt; look for other evidence.`,
    main.result.valid && main.result.checked.action === 'hash' && WEAK_HASH,
    unseen &&
      'The details (context) next to the receipt are not covered by it: the statement that would bind them is missing.',
    votes.length > 0 &&
      'How many people had to agree is not part of a receipt: compare the votes with your own rule.',
  ]
  return cautions.filter((caution) => typeof caution === 'string')
}

/** Why 16 characters of a hash are not enough (T69). */
export const WEAK_HASH =
  'The action only fits a short hash of 64 bits. Whoever wrote it could have prepared a second text with the same one, so this is a hint and no proof.'
