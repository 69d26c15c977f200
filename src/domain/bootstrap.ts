import type { Scope } from './api-key.ts'
import type { AuditEntry } from './audit.ts'
import type { OutboxEvent } from './event.ts'
import type { Outcome } from './receipt.ts'
import type { Evidence } from './request.ts'

type BootstrapStatus = 'pending' | Outcome | 'expired'

/**
 * Why a bootstrap has no key to give, or none any more. An approval without a key would leave the caller waiting for one that never
 * comes: it is `expired`, and says why.
 */
export type BootstrapEnd = 'not_answered' | 'not_collected' | 'already_collected'

/** What the owner said, with what proves it. Nothing of it is signed by the service: the key itself is the outcome. */
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
  /** `bst_…`: names it to the owner, opens nothing. The caller's `bootstrap_id` is another, and is not stored. */
  id: string
  /** Raised with every change that the owner is shown. */
  version: number
  /** Keyed hash of the `bootstrap_id`. */
  secret_hash: string
  /** Absent on a decoy: no user has the e-mail address that was named. */
  account_id?: string
  status: BootstrapStatus
  /** The caller's own word. */
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
  /** From approval on: the id the key will have, so that however many polls come at once make one. */
  key_id?: string
  /** An approval that was not used is worth nothing from then on. */
  collect_by?: Date
  collected?: { at: Date; address?: string }
  polled_at?: Date
  outbox: OutboxEvent[]
  audit: AuditEntry[]
}

/** What a key made this way may do (interface, endpoint 6). */
export const BOOTSTRAP_SCOPES = ['approval:create', 'approval:read'] as const satisfies readonly Scope[]

/** What each scope lets a key do, for page and card. */
export const SCOPE_WORDS: Readonly<Record<Scope, string>> = {
  'approval:create': 'ask people for approvals in the name of your account',
  'approval:read': 'read their outcome',
  'approval:verify': 'verify receipts',
}

export const BOOTSTRAP_MINUTES = 10

/** How long after consent the key can be collected: the ten minutes are the owner's; a caller that slept meanwhile is not late. */
export const COLLECT_MINUTES = 60

/**
 * Requests for one e-mail address in any hour (interface, "Limits"). None of them ends another, so that a stranger who names the
 * address cannot take away what the owner is about to consent to; since each waits ten minutes, more than five never wait.
 */
export const BOOTSTRAPS_AN_HOUR = { most: 5, seconds: 3600 }

/** Wrong matching codes that reject the request. */
export const WRONG_CODES = 3

/** What callers are asked to keep between two polls, and what is still let through: a network is no metronome. */
export const POLL_SECONDS = 3
export const POLL_LEAST_MS = 2_500

/** How long a caller that proves its verifier can have the key replaced that it may have lost on the way. */
export const REPLACE_SECONDS = 60

/** How long settled requests are kept. */
export const BOOTSTRAP_DAYS = 7

/** Can the owner still be asked? It is over once its time is up, even before a write says so. */
export function isWaiting({ status, expires_at }: Bootstrap, now: Date): boolean {
  return status === 'pending' && expires_at > now
}

/**
 * Twenty consonants (RFC 8628, section 6.1): without vowels no words appear, without digits nothing is mistaken for a letter.
 */
const LETTERS = 'BCDFGHJKLMNPQRSTVWXZ'

/** Eight letters are read aloud in two breaths, and are not guessed by luck in three tries. */
const CODE_LENGTH = 8

/** Bytes from here on would make the first letters likelier than the last. */
const FAIR = 256 - (256 % LETTERS.length)

/** Draws a matching code, as it is stored and signed: eight letters, without the dash. */
export function drawMatchingCode(random: { bytes(length: number): Uint8Array }): string {
  let code = ''
  while (code.length < CODE_LENGTH) {
    for (const byte of random.bytes(CODE_LENGTH)) {
      if (byte < FAIR && code.length < CODE_LENGTH) code += LETTERS.charAt(byte % LETTERS.length)
    }
  }
  return code
}

/** As people read it: `BDWP-HQPK`. */
export function showMatchingCode(code: string): string {
  return `${code.slice(0, CODE_LENGTH / 2)}-${code.slice(CODE_LENGTH / 2)}`
}

/** What a person typed as it is stored; case, dashes and blanks do not count. @returns undefined when it is no code at all */
export function readMatchingCode(typed: string): string | undefined {
  const code = withoutGaps(typed)
  return code.length === CODE_LENGTH && strangeLetter(typed) === undefined ? code : undefined
}

/** The first letter in what a person typed that no code has. */
export function strangeLetter(typed: string): string | undefined {
  return [...withoutGaps(typed)].find((letter) => !LETTERS.includes(letter))
}

function withoutGaps(typed: string): string {
  return typed.replace(/[\s\p{Dash_Punctuation}]/gu, '').toUpperCase()
}
