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

  const TOLD = {
    field: 'ttl_seconds',
    detail: 'Is too short.',
    scope: 'approval:read',
    status: 'expired',
    retry_after: 42,
    request_id: 'err_1',
  }

  it.each(Object.keys(REFUSALS).filter(isCode))(
    '%s has an error status and a sentence without gaps, with and without what a part of it needs',
    (code) => {
      const { status, publicMessage } = refusal(code, TOLD)
      expect(status).toBeGreaterThanOrEqual(400)
      expect(status).toBeLessThan(600)
      expect(publicMessage).toMatch(/^[A-Z`].*\.$|^ttl_seconds Is too short/)
      expect(publicMessage).toContain(TOLD.detail)
      expect(publicMessage.length).toBeLessThan(270)
      const { request_id: _id, status: _status, ...least } = TOLD
      for (const { publicMessage: words } of [refusal(code, TOLD), refusal(code, least)])
        expect(words).not.toMatch(/[{}[\]]|see `/)
    },
  )

  it('leaves out what it does not know, and says seconds and minutes as people do', () => {
    expect(refusal('internal_error').publicMessage).toBe('Something failed on our side.')
    const waits = [1, 2, 119, 120, 850].map(
      (retry_after) => refusal('slow_down', { retry_after }).publicMessage,
    )
    expect(waits.map((words) => words.replace('Poll every 3 seconds; wait ', ''))).toEqual([
      '1 second.',
      '2 seconds.',
      '119 seconds.',
      '2 minutes.',
      '15 minutes.',
    ])
  })

  it('says every sentence once', () => {
    const sentences = Object.values(REFUSALS).map(([, sentence]) => sentence)
    expect(new Set(sentences).size).toBe(sentences.length)
  })

  it('has codes that do not change: lower case with underscores, or the interface’s own words', () => {
    const own = new Set(['invalid or missing API key', 'rate limit exceeded'])
    for (const code of Object.keys(REFUSALS)) if (!own.has(code)) expect(code).toMatch(/^[a-z]+(_[a-z]+)*$/)
  })
})

function isCode(code: string): code is RefusalCode {
  return Object.hasOwn(REFUSALS, code)
}

describe('refusals', () => {
  it('are errors that carry what goes into the body', () => {
    const made = refusal('rate limit exceeded', { retry_after: 7 })
    expect(made).toBeInstanceOf(Refusal)
    expect(made).toBeInstanceOf(Error)
    expect(made.details).toEqual({ retry_after: 7 })
  })

  it.each([
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
      publicMessage: 'Send the field action.',
      details: { field: 'action' },
    })
    expect(fieldRequired('action', 'is blank')).toMatchObject({ publicMessage: 'action is blank.' })
  })

  it('invalidField names the field and what is wrong', () => {
    expect(invalidField('ttl_seconds', 'must be at least 60')).toMatchObject({
      code: 'invalid_field',
      status: 400,
      publicMessage: 'ttl_seconds must be at least 60.',
      details: { field: 'ttl_seconds', detail: 'must be at least 60' },
    })
  })
})
