import { readFileSync } from 'node:fs'
import { type ExpectedBundle, verifyBundle } from '@countersign/client/bundle'
import { beforeAll, describe, expect, it } from 'vitest'
import { packagePath } from '../../../src/config/package-path.ts'
import { toJwks } from '../../../src/signing/jwks.ts'
import { testKey } from '../../../test/signing/fixtures.ts'
import { type MadeBundle, makeBundle } from '../../../test/support/bundles.ts'

const KEYS = toJwks([testKey('decision')])

let made: MadeBundle
beforeAll(async () => {
  made = await makeBundle()
})

interface Case {
  about: string
  base: string
  verdict: string
  check?: string
  replace?: [string, string]
  policy?: string | null
  expected?: ExpectedBundle
  by_passkeys?: boolean
  witnesses?: string[]
  outcomes?: Record<string, string>
}

const vectors: { bases: Record<string, { text: string; policy?: string; keys: object }>; cases: Case[] } =
  JSON.parse(readFileSync(packagePath('test/vectors/receipts/bundles.json'), 'utf8'))

describe('verifyBundle', () => {
  it.each(vectors.cases.map((one) => [one.about, one] as const))(
    'gives the verdict of the vector: %s',
    async (_, one) => {
      const { text, policy, keys } = vectors.bases[one.base] ?? expect.unreachable()
      const [from, to] = one.replace ?? ['', '']
      const trusted = one.policy === undefined ? policy : (one.policy ?? undefined)
      const said = await verifyBundle(
        text.replace(from, () => to),
        keys,
        trusted,
        one.expected,
      )
      expect(said.verdict).toBe(one.verdict)
      const outcome = said.verdict === 'unmet' ? 'unmet' : 'failed'
      const found = said.checks.find((check) => ['unmet', 'failed'].includes(check.outcome))
      if (one.check !== undefined) expect(found).toEqual({ check: one.check, outcome })
      const outcomes = Object.entries(one.outcomes ?? {}).map(([check, outcome]) => ({ check, outcome }))
      expect(said.checks).toEqual(expect.arrayContaining(outcomes))
      if (one.by_passkeys !== undefined)
        expect(said).toMatchObject({ byPasskeys: one.by_passkeys, witnesses: one.witnesses })
    },
  )

  it('says what is proven, and by whom', async () => {
    const expected = {
      service: 'https://approvals.example.com',
      action: 'Deploy release 4.2.0 to production',
    }
    const context = JSON.parse(made.bundle.context ?? '')
    const found = await verifyBundle(made.text, KEYS, made.policy, { ...expected, context })
    expect(found).toEqual({
      verdict: 'approved',
      requestId: `req_${'7'.repeat(26)}`,
      decisionId: `dec_${'7'.repeat(26)}`,
      approver: '9f2c4e6a8b0d1f35',
      method: 'passkey',
      decidedAt: expect.any(Date),
      cautions: [],
      votes: 1,
      byPasskeys: true,
      service: 'https://approvals.example.com',
      witnesses: ['witness-1.example.org'],
      checks: expect.arrayContaining([{ check: 'witnesses', outcome: 'passed' }]),
    })
  })

  it('tells less than the policy asks for, a rejection and a forgery apart', async () => {
    const alone = await makeBundle({ leaves: 0, method: 'totp' })
    expect(await verifyBundle(alone.text, KEYS)).toMatchObject({ verdict: 'approved', byPasskeys: false })
    const unmet = await verifyBundle(alone.text, JSON.stringify(KEYS), made.policy)
    expect(unmet).toMatchObject({ verdict: 'unmet', message: expect.stringContaining('no place in a log') })
    const no = await makeBundle({ decision: 'rejected' })
    expect(await verifyBundle(no.text, KEYS, no.policy)).toMatchObject({ verdict: 'rejected' })
    const forged = await verifyBundle(made.text.replace('4.2.0 to', '4.2.1 to'), KEYS)
    expect(forged).toMatchObject({ verdict: 'refused', code: 'receipt_signature_invalid' })
    const other = await verifyBundle(made.text, KEYS, undefined, { action: 'Delete production' })
    expect(other).toMatchObject({ verdict: 'refused', code: 'receipt_unexpected' })
    expect(await verifyBundle('<html>', KEYS)).toMatchObject({ verdict: 'refused', code: 'bundle_shape' })
    await expect(verifyBundle(made.text, KEYS, 'witness x')).rejects.toThrow('line 1 of the policy')
  })
})
