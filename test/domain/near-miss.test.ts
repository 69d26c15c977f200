import { expect, it } from 'vitest'
import { meantField } from '../../src/domain/near-miss.ts'

const CREATE = ['action', 'ttl_seconds', 'context', 'requires_individual_decision', 'callback_url']

it.each([
  ['require_individual_decision', 'requires_individual_decision'],
  ['requiresIndividualDecision', 'requires_individual_decision'],
  ['requires_indvidual_decison', 'requires_individual_decision'],
  ['high_impact', 'requires_individual_decision'],
  ['expires_in_seconds', 'ttl_seconds'],
  ['ttlSeconds', 'ttl_seconds'],
  ['metadata', 'context'],
  ['tll_seconds', 'ttl_seconds'],
  ['TTL', 'ttl_seconds'],
  ['actoin', 'action'],
  ['callbackUrl', 'callback_url'],
  ['callback_uri', 'callback_url'],
])('%s was meant as %s', (sent, meant) => {
  expect(meantField(sent, CREATE)).toBe(meant)
})

it.each(['section', 'status', 'id', 'expires_at', 'ttl_minutes_left', 'callback', 'x', ''])(
  '%j is no slip of any field',
  (sent) => {
    expect(meantField(sent, CREATE)).toBeUndefined()
  },
)

it('takes other words only for a field that is there', () => {
  expect(meantField('high_impact', ['passkey_only'])).toBeUndefined()
  expect(meantField('dry_run', ['name', 'sandbox'])).toBe('sandbox')
})
