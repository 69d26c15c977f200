import type { Scope } from './api-key.ts'
import type { AuditEntry } from './audit.ts'
import type { OutboxEvent } from './event.ts'
import type { Outcome } from './receipt.ts'
import type { Evidence } from './request.ts'

type BootstrapStatus = 'pending' | Outcome | 'expired'

/**
 * Why a bootstrap has no key to give, or none any more. An approval without a key would leave the caller waiting for a key
 * that never comes, so the poll answers `expired` and this reason.
 */
export type BootstrapEnd = 'not_answered' | 'not_collected' | 'already_collected'

/** The owner's decision and its proof. The service signs none of it: the key itself is the outcome. */
export interface Consent {
  decision: Outcome
  method: 'passkey' | 'totp'
  at: Date
  user_id: string
  /** RFC 8785 text of the statement whose SHA-256 was the challenge. */
  intent_json: string
  evidence: Evidence
}

/** An agent's request for an API key of its own, as it is stored (interface, "Bootstrap request"; security §5.10). */
export interface Bootstrap {
  /** `bst_…`: names the bootstrap to the owner, grants nothing. The caller's `bootstrap_id` differs, and is not stored. */
  id: string
  /** Grows with every change that the owner is shown. */
  version: number
  /** Keyed hash of the `bootstrap_id`. */
  secret_hash: string
  /** Absent on a decoy: no user has the e-mail address that the caller named. */
  account_id?: string
  status: BootstrapStatus
  /** The caller's own name for itself, unverified. */
  client_name: string
  /** Eight letters, see `drawMatchingCode`. */
  code: string
  scopes: Scope[]
  /** Base64url SHA-256 of the verifier that every poll must then prove (RFC 7636, S256). */
  code_challenge?: string
  requester: { address: string; user_agent: string }
  wrong_codes: number
  created_at: Date
  expires_at: Date
  consent?: Consent
  /** Set on approval: the id the key will have, so that any number of concurrent polls make only one key. */
  key_id?: string
  /** An approval whose key was not collected by then becomes void. */
  collect_by?: Date
  collected?: { at: Date; address?: string }
  polled_at?: Date
  outbox: OutboxEvent[]
  audit: AuditEntry[]
}

/** What a key made this way may do (interface, endpoint 6). */
export const BOOTSTRAP_SCOPES = ['approval:create', 'approval:read'] as const satisfies readonly Scope[]

/** Words for what each scope lets a key do, for page and card. */
export const SCOPE_WORDS: Readonly<Record<Scope, string>> = {
  'approval:create': 'ask people for approvals in the name of your account',
  'approval:read': 'read their outcome',
  'approval:verify': 'verify receipts',
}

export const BOOTSTRAP_MINUTES = 10

/** How long after consent the key can be collected. The ten minutes are for the owner; a caller that slept is not late. */
export const COLLECT_MINUTES = 60

/**
 * Bootstrap requests for one e-mail address in any hour (interface, "Limits"). A new request never ends an earlier one, so a
 * stranger who names the address cannot take away the request that the owner is about to consent to. Each waits ten minutes,
 * so never more than five wait at once.
 */
export const BOOTSTRAPS_AN_HOUR = { most: 5, seconds: 3600 }

/** Number of wrong matching codes that rejects the request. */
export const WRONG_CODES = 3

/** The pause that callers are asked to keep between two polls, and the shortest that is accepted: a network is no metronome. */
export const POLL_SECONDS = 3
export const POLL_LEAST_MS = 2_500

/** How long a caller that proves its verifier can have its key replaced, in case the answer with the key was lost on the way. */
export const REPLACE_SECONDS = 60

/** How long settled requests are kept. */
export const BOOTSTRAP_DAYS = 7

/** Checks whether the owner can still be asked. A bootstrap is over once its time is up, even before a write says so. */
export function isWaiting({ status, expires_at }: Bootstrap, now: Date): boolean {
  return status === 'pending' && expires_at > now
}

/**
 * Twenty consonants (RFC 8628, section 6.1): without vowels no words appear, without digits none is mistaken for a letter.
 */
const LETTERS = 'BCDFGHJKLMNPQRSTVWXZ'

/** Eight letters are read aloud in two breaths, and are not guessed by luck in three tries. */
const CODE_LENGTH = 8

/** Bytes from this value on are dropped: they would make the first letters likelier than the last. */
const FAIR = 256 - (256 % LETTERS.length)

/** Draws a matching code in the form that is stored and signed: eight letters, without the dash. */
export function drawMatchingCode(random: { bytes(length: number): Uint8Array }): string {
  let code = ''
  while (code.length < CODE_LENGTH) {
    for (const byte of random.bytes(CODE_LENGTH)) {
      if (byte < FAIR && code.length < CODE_LENGTH) code += LETTERS.charAt(byte % LETTERS.length)
    }
  }
  return code
}

/** Formats a matching code for people: `BDWP-HQPK`. */
export function showMatchingCode(code: string): string {
  return `${code.slice(0, CODE_LENGTH / 2)}-${code.slice(CODE_LENGTH / 2)}`
}

/** Converts typed text to a stored code, ignoring case, dashes and blanks. @returns undefined when the text is no code at all */
export function readMatchingCode(typed: string): string | undefined {
  const code = withoutGaps(typed)
  return code.length === CODE_LENGTH && strangeLetter(typed) === undefined ? code : undefined
}

/** Returns the first character of the typed text that no code contains. */
export function strangeLetter(typed: string): string | undefined {
  return [...withoutGaps(typed)].find((letter) => !LETTERS.includes(letter))
}

function withoutGaps(typed: string): string {
  return typed.replace(/[\s\p{Dash_Punctuation}]/gu, '').toUpperCase()
}
