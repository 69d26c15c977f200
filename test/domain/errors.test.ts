import { describe, expect, it } from 'vitest'
import {
  fieldRequired,
  invalidField,
  REFUSALS,
  Refusal,
  type RefusalCode,
  refusal,
} from '../../src/domain/errors.ts'

/** Codes and statuses that callers rely on: the interface's own first, then ours. */
const PROMISED: [RefusalCode, number][] = [
  ['sandbox_fields_require_sandbox_key', 400],
  ['invalid or missing API key', 401],
  ['rate limit exceeded', 429],
  ['remind_rate_limited', 429],
  ['not_pending', 409],
  ['invalid_field', 400],
  ['invalid_json', 400],
  ['unsupported_media_type', 415],
  ['payload_too_large', 413],
  ['insufficient_scope', 403],
  ['not_found', 404],
  ['approver_email_required', 400],
  ['approver_not_found', 404],
  ['approver_email_not_allowed', 400],
  ['no_eligible_approver', 422],
  ['idempotency_mismatch', 422],
  ['idempotency_in_progress', 409],
  ['quota_exceeded', 429],
  ['too_many_waits', 429],
  ['sandbox_request', 409],
  ['key_limit', 409],
  ['storage_unavailable', 503],
  ['unavailable', 503],
  ['internal_error', 500],
]

describe('the one table', () => {
  it.each(PROMISED)('%s is %i', (code, status) => {
    expect(refusal(code)).toMatchObject({ code, status })
  })

  it.each(Object.entries(REFUSALS))(
    '%s has an error status and one helpful sentence',
    (_code, [status, sentence]) => {
      expect(status).toBeGreaterThanOrEqual(400)
      expect(status).toBeLessThan(600)
      expect(sentence).toMatch(/^[A-Z`].*\.$/)
      expect(sentence.length).toBeLessThan(160)
    },
  )

  it('says every sentence once', () => {
    const sentences = Object.values(REFUSALS).map(([, sentence]) => sentence)
    expect(new Set(sentences).size).toBe(sentences.length)
  })

  it('has codes that do not change: lower case with underscores, or the interface’s own words', () => {
    const own = new Set(['invalid or missing API key', 'rate limit exceeded'])
    for (const code of Object.keys(REFUSALS)) if (!own.has(code)) expect(code).toMatch(/^[a-z]+(_[a-z]+)*$/)
  })
})

describe('refusals', () => {
  it('are errors that carry what goes into the body', () => {
    const made = refusal('rate limit exceeded', { retry_after: 7 })
    expect(made).toBeInstanceOf(Refusal)
    expect(made).toBeInstanceOf(Error)
    expect(made.details).toEqual({ retry_after: 7 })
  })

  it.each([
    ['idempotency_in_progress', 1],
    ['unavailable', 2],
    ['storage_unavailable', 3],
    ['chat_keys_unavailable', 3],
  ] as const)('%s passes by itself, and says after how many seconds it is worth another try', (code, s) => {
    expect(refusal(code).details).toEqual({ retry_after: s })
    expect(refusal(code, { retry_after: 9 }).details).toEqual({ retry_after: 9 })
  })

  it('fieldRequired speaks the interface’s words', () => {
    expect(fieldRequired('action')).toMatchObject({
      code: 'action required',
      status: 400,
      details: { field: 'action' },
    })
  })

  it('invalidField names the field and what is wrong', () => {
    expect(invalidField('ttl_seconds', 'must be at least 60')).toMatchObject({
      code: 'invalid_field',
      status: 400,
      details: { field: 'ttl_seconds', detail: 'must be at least 60' },
    })
  })
})
