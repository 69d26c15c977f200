import type { Page, Request } from 'playwright-core'
import { beforeAll, expect, it } from 'vitest'
import { canonicalize } from '../../src/signing/canonical.ts'
import { rawSign } from '../../src/signing/ed25519-node.ts'
import { describeInBrowser, NOTE_SHIFTS, PAINTED } from '../support/browser.ts'
import { stored } from '../support/caller.ts'
import { ask, callWithKey, decideByPasskey, type LiveSetting, setUpOwner } from '../support/live.ts'
import { useServiceSuite } from '../support/service-suite.ts'
import {
  answerOf,
  bringAnother,
  callbackOf,
  checksIn,
  dryRun,
  openVerify,
  paste,
  shownVerdict,
} from '../support/verify-scenes.ts'

const ACTION = 'Pay 12 500 EUR to Möller & Söhne'
const CONTEXT = { tool: 'bank', amount: 12500 }

describeInBrowser('the public page for receipts, with the real service', () => {
  const suite = useServiceSuite()
  let setting: LiveSetting
  let approvedId: string
  let approved: Record<string, unknown>
  let rejected: Record<string, unknown>
  beforeAll(async () => {
    setting = await setUpOwner(suite.service())
    approvedId = await ask(setting, { action: ACTION, context: CONTEXT })
    await decideByPasskey(setting, approvedId, 'approved', 'fine by me')
    approved = await answerOf(setting, approvedId)
    const no = await ask(setting, { action: ACTION })
    await decideByPasskey(setting, no, 'rejected')
    rejected = await answerOf(setting, no)
  })

  /** The page, and every call that was made since it stood there. */
  async function open(path = '/verify'): Promise<{ page: Page; calls: Request[] }> {
    const { page } = await suite.visit()
    const calls: Request[] = []
    await openVerify(page, path)
    page.on('request', (request) => calls.push(request))
    return { page, calls }
  }
  const signInOwner = (page: Page): Promise<void> =>
    page.context().addCookies(
      [...setting.owner.browser.cookies].map(([name, value]) => ({
        name,
        value,
        url: suite.service().url,
      })),
    )
  const pathsOf = (calls: Request[]) => calls.map((request) => new URL(request.url()).pathname)
  const decision = () => Object(approved.decision)

  it('tells anybody that a whole answer is valid, by whom and when, and lists every check as passed', async () => {
    const { page, calls } = await open()
    await paste(page, approved)
    const verdict = await shownVerdict(page)
    expect(verdict.kind).toBe('approved')
    expect(verdict.heading).toBe('A genuine approval, unchanged')
    expect(verdict.text).toMatch(new RegExp(`Approved by ${decision().approver} on \\d+ \\w+ 20\\d\\d`))
    expect(await page.locator('#announcements').innerText()).toBe(verdict.heading)
    expect(await checksIn(page, 'failed')).toEqual([])
    expect(await checksIn(page, 'absent')).toEqual([])
    expect(await checksIn(page, 'passed')).toHaveLength(17)
    expect(await page.locator('.quoted').innerText()).toBe(ACTION)
    await page.getByText('Details (context), exactly as decided on').click()
    expect(await page.locator('.details-box').innerText()).toContain('12500')
    expect(await page.locator('.facts').first().innerText()).toContain(suite.service().url)
    expect(pathsOf(calls)).toEqual(['/.well-known/jwks.json'])
  })

  it('takes a bundle, byte for byte, and names the checks of the passkey', async () => {
    const { page, calls } = await open()
    const bundle = await (await callWithKey(suite.service(), setting.key, `/${approvedId}/receipt`)).text()
    await paste(page, bundle)
    const verdict = await shownVerdict(page)
    expect(verdict.kind).toBe('approved')
    expect(verdict.text).toContain('For each approver, a passkey signed exactly this.')
    expect(await checksIn(page, 'passed')).toEqual(
      expect.arrayContaining([
        'A bundle',
        'Signed statement',
        'A person',
        'Signature of the passkey',
        'Exact details',
      ]),
    )
    expect(await checksIn(page, 'absent')).toContain('Whose passkey')
    expect(await page.locator('.quoted').innerText()).toBe(ACTION)
    expect(pathsOf(calls)).toEqual(['/.well-known/jwks.json'])
    await paste(page, bundle.replace(/"signature":"M/, '"signature":"N'))
    expect(await shownVerdict(page)).toMatchObject({ kind: 'invalid', heading: 'Not valid' })
    expect(await checksIn(page, 'failed')).toEqual(['Signature of the passkey'])
    // As a formatter leaves it.
    await paste(page, JSON.stringify(JSON.parse(bundle), null, 2))
    expect((await shownVerdict(page)).text).toContain('pass it on byte for byte')
  })

  it('names what is next to the receipt without being signed, and shows none of it', async () => {
    const { page } = await open()
    await paste(page, { ...callbackOf(approved), audience: 'casino', note: 'Grace agreed' })
    expect((await shownVerdict(page)).kind).toBe('approved')
    const shown = await page.locator('.verify-result').innerText()
    expect(shown).toContain('Not signed, and not checked: "audience", "note", "comment".')
    expect(shown).not.toMatch(/casino|Grace/)
  })

  it('sends nothing of what was pasted anywhere: one call, for the keys, without body and query', async () => {
    const { page, calls } = await open()
    await page.evaluate(`navigator.sendBeacon = () => { throw new Error('no') }`)
    for (const json of [approved, decision(), callbackOf(approved)]) {
      await paste(page, json)
      expect((await shownVerdict(page)).kind).toBe('approved')
    }
    expect(new Set(pathsOf(calls))).toEqual(new Set(['/.well-known/jwks.json']))
    for (const request of calls) {
      expect(request.method()).toBe('GET')
      expect(request.postData()).toBeNull()
      expect(new URL(request.url()).search).toBe('')
      expect(request.headers().cookie).toBeUndefined()
    }
    expect(await page.evaluate('localStorage.length + sessionStorage.length')).toBe(0)
  })

  it('takes a decision alone, a callback body and a signed_receipt alone', async () => {
    const { page } = await open()
    for (const json of [decision(), callbackOf(approved), Object(callbackOf(approved)).signed_receipt]) {
      await paste(page, json)
      expect((await shownVerdict(page)).kind, Object.keys(json).join()).toBe('approved')
    }
  })

  it('takes a request id, a decision id and a link, and checks the answer of the service itself', async () => {
    const { page, calls } = await open()
    const { url } = suite.service()
    for (const text of [approvedId, decision().id, `${url}/a/${approvedId}`]) {
      calls.length = 0
      await paste(page, text)
      expect((await shownVerdict(page)).kind).toBe('approved')
      expect(await checksIn(page, 'passed')).toContain('The requested receipt')
      const id = text.includes('/') ? approvedId : text
      expect(pathsOf(calls)).toEqual([`/api/v1/approvals/${id}/verify`, '/.well-known/jwks.json'])
      await bringAnother(page)
    }
  })

  it.each([
    ['a laptop', { width: 1280, height: 900 }],
    ['a laptop at 200 %', { width: 640, height: 450 }],
    ['a phone', { width: 390, height: 844 }],
  ])('checks the id in its own address at once, and moves nothing meanwhile on %s', async (_, viewport) => {
    const { page } = await suite.visit({ viewport })
    await page.addInitScript(NOTE_SHIFTS)
    await page.route('**/verify', async (route) => {
      if (!route.request().url().includes('/api/')) return route.continue()
      await page.locator('.verify').waitFor()
      await page.evaluate(PAINTED)
      expect(await page.locator('.verify-place').innerText()).toBe('Checking…')
      expect(await page.getByLabel('Receipt, link or id').isVisible()).toBe(false)
      await route.continue()
    })
    await page.goto(`/verify#${approvedId}`)
    expect((await shownVerdict(page)).kind).toBe('approved')
    await page.evaluate(PAINTED)
    expect(await page.evaluate('window.shifts.reduce((all, { value }) => all + value, 0)')).toBeLessThan(0.1)
  })

  it('leads from the id in its own address to signing in and back, where the text is checked, too', async () => {
    const { page } = await suite.visit()
    await page.goto(`/verify#${approvedId}`)
    const verdict = await shownVerdict(page)
    expect(verdict.kind).toBe('approved')
    expect(verdict.text).toContain('This confirms the decision, not its text')
    expect(await page.getByLabel('Receipt, link or id').inputValue()).toBe(approvedId)
    await page.getByRole('link', { name: 'Sign in' }).click()
    await page.getByRole('heading', { name: 'Sign in' }).waitFor()
    await signInOwner(page)
    await page.reload()
    expect((await shownVerdict(page)).heading).toMatch(/^owner\S*’s approval, unchanged$/)
    expect(page.url()).toBe(`${suite.service().url}/verify#${approvedId}`)
  })

  it('is one link away from the receipt on the page of a request, and from signing in', async () => {
    const { page } = await suite.visit()
    await signInOwner(page)
    await page.goto(`/a/${approvedId}`)
    await page.getByRole('link', { name: 'Check this receipt' }).click()
    expect(await shownVerdict(page)).toMatchObject({
      kind: 'approved',
      heading: expect.stringMatching(/^owner\S*’s approval, unchanged$/),
    })
    expect(page.url()).toBe(`${suite.service().url}/verify#${approvedId}`)
    // The text that this person may see is checked, too.
    expect(await page.locator('.verdict + .card').innerText()).toContain(ACTION)
    expect(await page.locator('.verdict .notice').count()).toBe(0)
    await bringAnother(page)
    await paste(page, decision().id)
    await shownVerdict(page)
    expect(await checksIn(page, 'passed')).toContain('Exact details')
    let lie = (bundle: string): string => bundle.replace(ACTION, `${ACTION}0`)
    await page.route('**/proof', async (route) => {
      const answer = Object(await (await route.fetch()).json())
      await route.fulfill({ json: { ...answer, bundle: lie(answer.bundle) } })
    })
    await bringAnother(page)
    await paste(page, approvedId)
    expect((await shownVerdict(page)).kind).toBe('invalid')
    // Good by itself, and another one than was asked for.
    const other = await callWithKey(suite.service(), setting.key, `/${String(rejected.id)}/receipt`)
    const otherBundle = await other.text()
    lie = () => otherBundle
    await bringAnother(page)
    await paste(page, approvedId)
    expect((await shownVerdict(page)).kind).toBe('invalid')
    await page.route('**/proof', (route) => route.fulfill({ status: 404, json: { error: 'not_found' } }))
    await bringAnother(page)
    await paste(page, approvedId)
    expect((await shownVerdict(page)).text).toContain('not its text')
    await page.context().clearCookies()
    await page.goto('/signin')
    await page.getByRole('link', { name: 'Verify it without signing in' }).click()
    await page.getByRole('heading', { name: 'Verify a receipt' }).waitFor()
  })

  it('does not believe the service: an answer with another receipt, or with a key of its own, is refused', async () => {
    const { page } = await open()
    const seed = new Uint8Array(32).fill(7)
    const other = Object(
      await (await fetch(`${suite.service().url}/api/v1/approvals/${String(rejected.id)}/verify`)).json(),
    )
    const payload = { ...other.payload, rid: approvedId, decision: 'approved' }
    const forged = {
      ...other,
      decision: 'approved',
      payload,
      signature: Buffer.from(rawSign(new TextEncoder().encode(canonicalize(payload)), seed)).toString(
        'base64',
      ),
      public_key: '6kpsY+KcUgq+9VB7Ey7F+ZVHdq6+vnuSQh7qaRRG0iw=',
    }
    const { public_key_id: _gone, ...unnamed } = forged
    for (const [answer, words] of [
      [other, 'is genuine but is not the one expected'],
      [forged, 'do not match'],
      [unnamed, 'not in the key set; get key sets only from the service itself'],
      [{ ...forged, public_key: undefined }, 'altered or forged'],
    ] as const) {
      await page.route('**/verify', (route) => route.fulfill({ json: answer }))
      await paste(page, approvedId)
      const verdict = await shownVerdict(page)
      expect(verdict.kind).toBe('invalid')
      expect(verdict.text).toContain(words)
      await page.unroute('**/verify')
      await bringAnother(page)
    }
  })

  it('calls a rejection valid but no permission', async () => {
    const { page } = await open()
    await paste(page, rejected)
    const verdict = await shownVerdict(page)
    expect(verdict.kind).toBe('rejected')
    expect(verdict.heading).toBe('A genuine rejection, unchanged')
    expect(verdict.text).toContain('It is not a permission.')
  })

  const FORGED: [what: string, json: () => object, check: string, heading: string][] = [
    [
      'another action',
      () => ({ ...approved, action: `${ACTION}0` }),
      'Action, short hash',
      'Not what was decided on: “action” differs',
    ],
    [
      'other details',
      () => ({ ...approved, context: { ...CONTEXT, amount: 1 } }),
      'Exact details',
      'Not what was decided on: “context” differs',
    ],
    [
      'a rejection called approved',
      () => ({ ...rejected, decision: { ...Object(rejected.decision), decision: 'approved' } }),
      'Fields around it',
      'Not what was signed: “decision” differs',
    ],
    [
      'another signature',
      () => ({ ...decision(), signature: Object(rejected.decision).signature }),
      'Signature',
      'Not valid: altered or forged',
    ],
    [
      'another payload',
      () => ({ ...decision(), signed_payload: Object(rejected.decision).signed_payload }),
      'Signature',
      'Not valid: altered or forged',
    ],
    [
      'another statement',
      () => ({ ...decision(), intent: Object(rejected.decision).intent }),
      'Full statement (intent)',
      'Not valid',
    ],
    [
      'a respelled signature',
      () => ({ ...decision(), signature: decision().signature.replace('==', '') }),
      'Strict encoding',
      'Not valid: altered or forged',
    ],
    [
      'a foreign key',
      () => ({ ...decision(), public_key_id: 'x'.repeat(43) }),
      'Known key',
      'Not valid: signed with an unknown key',
    ],
    ...(
      [
        ['audience', 'casino'],
        ['reversibility', 'reversible'],
        ['high_impact', true],
        ['requested_by', { key_name: 'billing' }],
      ] as const
    ).map(([field, lie]): (typeof FORGED)[number] => [
      `another ${field}`,
      () => ({ ...approved, [field]: lie }),
      'Full statement (intent)',
      `Not what was signed: “${field}” differs`,
    ]),
    [
      'other metadata',
      () => ({ ...decision(), action: ACTION, metadata: { ...CONTEXT, amount: 1 } }),
      'Exact details',
      'Not what was decided on: “context” differs',
    ],
    ['what is no receipt', () => ({ hello: 'world' }), 'A receipt', 'Not valid'],
  ]
  it('refuses what was changed in any way, and says which check failed', async () => {
    const { page } = await open()
    for (const [what, json, check, heading] of FORGED) {
      await paste(page, json())
      const verdict = await shownVerdict(page)
      expect(verdict.kind, what).toBe('invalid')
      expect(verdict.heading, what).toBe(heading)
      expect(verdict.text, what).toMatch(/Do not act on it\.\n/)
      const said = verdict.text.match(/not valid|do not act on it/gi) ?? []
      expect(new Set(said.map((words) => words.toLowerCase())).size, what).toBe(said.length)
      expect(await checksIn(page, 'failed'), what).toEqual([check])
      expect(await page.locator('.check-line strong').first().innerText(), what).toBe(check)
      expect(await page.locator('#announcements').innerText(), what).toBe(verdict.heading)
      expect(await page.getByRole('heading', { name: 'Decided action', exact: true }).count(), what).toBe(0)
    }
  })

  it('T72: marks a dry-run unmissably and does not call it valid', async () => {
    const { page } = await open()
    const answer = await dryRun(suite.service())
    for (const subject of [answer, String(answer.id)]) {
      await paste(page, subject)
      const verdict = await shownVerdict(page)
      expect(verdict.kind).toBe('sandbox')
      expect(verdict.heading).toMatch(/^Not valid for production: a dry-run approved this/)
      expect(verdict.text.toUpperCase()).toContain('DRY-RUN · SANDBOX · NO PERSON DECIDED')
      expect(verdict.text).toMatch(/Decided by the sandbox, no person on \d+ \w+ 20\d\d/)
      expect(await page.locator('main').innerText()).not.toMatch(/(Approved|Rejected) by|Approver/)
      expect(await checksIn(page, 'dry-run')).toEqual(['Not a dry-run'])
      expect(await page.locator('.check-line strong').first().innerText()).toBe('Not a dry-run')
      await bringAnother(page)
    }
  })

  it('says plainly that a request is unknown, pending or expired, and that this is the word of the service', async () => {
    const { page, calls } = await open()
    const pending = await ask(setting, { action: 'Wait' })
    const expired = await ask(setting, { action: 'Wait' })
    await stored(suite.service(), 'requests').updateOne(
      { _id: expired },
      { $set: { expires_at: new Date(0) } },
    )
    for (const [id, heading, words] of [
      ['req_00000000000000000000000000', 'Request not found', 'There is no such request; check the id.'],
      ['dec_00000000000000000000000000', 'Request not found', 'There is no such request; check the id.'],
      [pending, 'Not decided yet', 'Nothing is signed yet; verify again after the decision.'],
      [expired, 'Never decided', 'The request lapsed without a decision'],
    ] as const) {
      await paste(page, id)
      const verdict = await shownVerdict(page)
      expect(verdict).toMatchObject({ kind: 'none', heading })
      expect(verdict.text).toContain(words)
      expect(verdict.text).toContain('there is no signature to check here')
      await bringAnother(page)
    }
    expect(pathsOf(calls)).not.toContain('/.well-known/jwks.json')
    await paste(page, { id: pending, status: 'pending', action: 'Wait' })
    expect((await shownVerdict(page)).text).toContain('This request is not decided, so there is no receipt')
  })

  it('explains a tampered store as what it is', async () => {
    const id = await ask(setting, { action: 'Move a file' })
    await decideByPasskey(setting, id, 'approved')
    await stored(suite.service(), 'requests').updateOne({ _id: id }, { $set: { action: 'Delete all' } })
    const { page } = await open()
    await paste(page, id)
    const verdict = await shownVerdict(page)
    expect(verdict.heading).toBe('Not valid: the service does not confirm this receipt')
    expect(verdict.text).toContain('Do not act on this request')
  })

  it('warns of a restore: about a receipt by the key set, about an id by the service, which also says what it erased', async () => {
    const { restores } = suite.service().composition.deps
    const at = Date.parse(decision().decided_at)
    const times = { copied_at: new Date(at - 60_000), restored_at: new Date(at + 60_000) }
    const mark = { _id: 'cpy_1', copied_by: 'backup', copied_on: 'a@b', ...times }
    await stored(suite.service(), 'restores').insertOne({ ...mark, state: 'lifted', number: 1 })
    await restores.all()
    const { page } = await open()
    await paste(page, approved)
    expect((await shownVerdict(page)).text).toContain('This receipt may be missing in that copy')
    const byId = async () => {
      const { page } = await open(`/verify#${approvedId}`)
      const { kind, text } = await shownVerdict(page)
      return [kind, / copy of .* in which this request was pending/.test(text), text.includes('restored')]
    }
    expect(await byId()).toEqual(['approved', false, false])
    const after = (change: object) =>
      stored(suite.service(), 'requests').updateOne({ _id: approvedId }, change)
    await after({ $set: { decided_after: mark._id } })
    expect(await byId()).toEqual(['approved', true, true])
    await after({ $unset: { decided_after: 1 } })
    const erased_at = new Date(at + 60_000)
    await after({ $set: { erased_at } })
    const { page: erased } = await open(`/verify#${approvedId}`)
    const { kind, text } = await shownVerdict(erased)
    expect([kind, text]).toEqual([
      'approved',
      expect.stringContaining(`not its text, which the service erased at ${erased_at.toISOString()}.`),
    ])
    await after({ $unset: { erased_at: 1 } })
    await stored(suite.service(), 'restores').deleteOne({ _id: mark._id })
    await restores.all()
  })

  it('T73: keeps receipts of a key that was rotated, knows the new key and a revocation at once, and refuses a revoked one', async () => {
    const { page, calls } = await open()
    await paste(page, approved)
    expect((await shownVerdict(page)).kind).toBe('approved')
    const { deps } = suite.service().composition
    const old = decision().public_key_id
    const next = await deps.keys.rotate('decision', deps.clock.now(), { kind: 'cli' })
    const id = await ask(setting, { action: 'After the rotation' })
    await decideByPasskey(setting, id, 'approved')
    const later = await answerOf(setting, id)
    expect(Object(later.decision).public_key_id).toBe(next.kid)
    await bringAnother(page)
    calls.length = 0
    await paste(page, later)
    const verdict = await shownVerdict(page)
    expect(verdict.kind).toBe('approved')
    expect(pathsOf(calls)).toEqual(['/.well-known/jwks.json'])
    await bringAnother(page)
    await paste(page, approved)
    expect((await shownVerdict(page)).kind).toBe('approved')

    const decidedAt = Date.parse(decision().decided_at)
    const revoke = async (at: number): Promise<void> => {
      await stored(suite.service(), 'signing_keys').updateOne(
        { _id: old },
        { $set: { revoked_at: new Date(at) } },
      )
      await deps.keys.reload()
    }
    await revoke(decidedAt + 60_000)
    await bringAnother(page)
    await paste(page, approved)
    expect((await shownVerdict(page)).text).toContain('The key was revoked later')
    await revoke(decidedAt - 60_000)
    await bringAnother(page)
    await paste(page, approved)
    const refused = await shownVerdict(page)
    expect(refused.kind).toBe('invalid')
    expect(refused.text).toContain('at or after the revocation of the key')
    expect(await checksIn(page, 'failed')).toEqual(['Key in use'])
    await stored(suite.service(), 'signing_keys').updateOne({ _id: old }, { $set: { revoked_at: null } })
    await deps.keys.reload()
  })
})
