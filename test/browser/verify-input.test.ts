import { writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Page, Request } from 'playwright-core'
import { expect, it } from 'vitest'
import { toJwks } from '../../src/signing/jwks.ts'
import { describeInBrowser } from '../support/browser.ts'
import { makeBundle } from '../support/bundles.ts'
import { usePageSuite } from '../support/page-suite.ts'
import { bringAnother, checksIn, openVerify, paste, shownVerdict } from '../support/verify-scenes.ts'
import { answerWith, live, sandbox, vote } from '../verify-page/receipts.ts'

const MIB = 1_048_576
const JWKS = toJwks([live, sandbox])
const RECEIPT = JSON.stringify(answerWith(vote()))

/** Drops files, or dragged text, somewhere on the page. */
function drop(
  page: Page,
  target: string,
  what: { files?: string[]; name?: string; text?: string },
): Promise<void> {
  return page.evaluate(
    `(() => {
      const { files = [], name = 'receipt.json', text } = ${JSON.stringify(what)}
      const dataTransfer = new DataTransfer()
      for (const content of files) dataTransfer.items.add(new File([content], name))
      if (text !== undefined) dataTransfer.setData('text/plain', text)
      const target = document.querySelector(${JSON.stringify(target)})
      for (const type of ['dragenter', 'dragover', 'drop'])
        target.dispatchEvent(new DragEvent(type, { dataTransfer, bubbles: true, cancelable: true }))
    })()`,
  )
}

describeInBrowser('giving a receipt to the public page', () => {
  const suite = usePageSuite()

  async function open(): Promise<{ page: Page; calls: Request[]; incidents: string[] }> {
    suite.server().state.signedIn = false
    const visitor = await suite.visit()
    const { page, incidents } = visitor
    await page.route('**/.well-known/jwks.json', (route) => route.fulfill({ json: JWKS }))
    await openVerify(page)
    const calls: Request[] = []
    page.on('request', (request) => calls.push(request))
    return { page, calls, incidents }
  }
  const problem = (page: Page) => page.locator('.notice-slot .notice.error').first().innerText()

  it('takes a file by the button, again after it was changed, and tells its name', async () => {
    const { page } = await open()
    const file = join(tmpdir(), `receipt-${process.pid}.json`)
    for (const [content, kind] of [
      [RECEIPT, 'approved'],
      [RECEIPT.replace('Pay', 'pay'), 'invalid'],
    ] as const) {
      await writeFile(file, content)
      const choosing = page.waitForEvent('filechooser')
      await page.getByRole('button', { name: 'Choose a file' }).click()
      await (await choosing).setFiles(file)
      const verdict = await shownVerdict(page)
      expect(verdict.kind).toBe(kind)
      expect(verdict.text).toContain(`From the file receipt-${process.pid}.json.`)
      await bringAnother(page)
    }
  })

  it('takes a drop on the zone and anywhere else, and never leaves the page for it', async () => {
    const { page } = await open()
    const address = page.url()
    for (const target of ['.drop-zone', 'body', 'h1']) {
      await drop(page, target, { files: [RECEIPT] })
      expect((await shownVerdict(page)).kind).toBe('approved')
      expect(await page.locator('.drop-zone.over').count()).toBe(0)
      await bringAnother(page)
    }
    await drop(page, '.drop-zone', { text: RECEIPT })
    expect((await shownVerdict(page)).kind).toBe('approved')
    await drop(page, '.drop-zone', { files: [RECEIPT, RECEIPT] })
    expect(await problem(page)).toContain('Drop one file at a time.')
    expect(page.url()).toBe(address)
  })

  it('takes 1 MiB, pasted or as a file, and reads nothing that is longer', async () => {
    const { page, calls } = await open()
    const full = `${RECEIPT.slice(0, -1)}${' '.repeat(MIB - RECEIPT.length)}}`
    expect(full).toHaveLength(MIB)
    await drop(page, '.drop-zone', { files: [full] })
    expect((await shownVerdict(page)).kind).toBe('approved')
    await paste(page, full)
    expect((await shownVerdict(page)).kind).toBe('approved')
    calls.length = 0
    await paste(page, `${full.slice(0, -1)} }`)
    await page.getByText('This is longer than 1 MiB').waitFor()
    await drop(page, '.drop-zone', { files: [`${full} `] })
    await page.getByText('This file is larger than 1 MiB').waitFor()
    expect(await page.locator('.verdict').count()).toBe(0)
    expect(calls).toEqual([])
  })

  it('refuses garbage in plain words, with the earlier result gone, and without any call', async () => {
    const { page, calls, incidents } = await open()
    await paste(page, RECEIPT)
    await shownVerdict(page)
    calls.length = 0
    for (const [text, words] of [
      ['', 'Paste a receipt, a link or an id first'],
      ['hello', 'not an id, a link or JSON'],
      ['<img src=x onerror=alert(1)>', 'not an id, a link or JSON'],
      ['https://elsewhere.example/a/req_00000000000000000000000001', 'another service, elsewhere.example'],
      [JSON.stringify(JWKS), 'This is a key set, not a receipt'],
    ] as const) {
      await paste(page, text)
      await page.locator('.notice-slot').getByText(words).waitFor()
      expect(await page.locator('.verdict').count()).toBe(0)
      expect(await page.locator('#announcements').textContent(), text).toBe('')
    }
    await page.evaluate(`(() => {
      const dataTransfer = new DataTransfer()
      dataTransfer.items.add(new File([new Uint8Array([0xff, 0xfe, 0, 1])], 'photo.png'))
      document.body.dispatchEvent(new DragEvent('drop', { dataTransfer, bubbles: true, cancelable: true }))
    })()`)
    await page.getByText('This file is not text').waitFor()
    expect(calls).toEqual([])
    expect(incidents).toEqual([])
  })

  it('keeps in this tab what was pasted, for its author, and folds it once it is checked', async () => {
    const { page, calls } = await open()
    const field = page.getByLabel('Receipt, link or id')
    await paste(page, `${RECEIPT} `)
    await shownVerdict(page)
    expect(await field.isVisible()).toBe(false)
    await bringAnother(page)
    await field.fill(RECEIPT)
    await page.getByRole('link', { name: 'Sign in' }).click()
    await page.getByRole('heading', { name: 'Sign in' }).waitFor()
    suite.server().state.signedIn = true
    await page.goBack()
    await page.locator('.verdict > h2').waitFor()
    expect(await field.inputValue()).toBe(RECEIPT)
    // Within the document, too.
    await page.getByRole('link', { name: 'Inbox', exact: true }).click()
    await page.getByRole('heading', { name: 'Inbox' }).waitFor()
    await page.goBack()
    await page.locator('.verdict > h2').waitFor()
    expect(await field.inputValue()).toBe(RECEIPT)
    // Who comes anew has something else to check.
    await page.goto('/')
    await page.getByRole('link', { name: 'Verify a receipt' }).click()
    await field.waitFor()
    expect(await page.locator('.verdict').count()).toBe(0)
    for (const request of calls) expect(request.url() + request.postData()).not.toContain('signed_payload')
    expect(page.url()).toBe(`${suite.server().url}/verify`)
    expect(await page.evaluate('JSON.stringify(localStorage)')).not.toContain('signed_payload')
    suite.server().state.signedIn = false
    await page.reload()
    await page.getByRole('link', { name: 'Sign in' }).waitFor()
    expect(await field.inputValue()).toBe('')
  })

  it('T43: shows hostile text of a payload, a key id and a file name as text only', async () => {
    const { page, incidents } = await open()
    const script = '<script>alert(1)</script><img src=x onerror=alert(2)>'
    const hostile = `${script}\u202eevil\u200b`
    await paste(page, {
      canonical_payload: `{"action":"${hostile}"}`,
      signature: vote().signature,
      public_key_id: vote().public_key_id,
    })
    expect((await shownVerdict(page)).kind).toBe('invalid')
    await page.getByText('Raw payload and signature').click()
    const raw = page.getByRole('group', { name: 'Text as received, not verified' })
    expect(await raw.innerText()).toContain(`${script}[U+202E]evil[U+200B]`)
    await bringAnother(page)
    await paste(page, { ...vote(), public_key_id: hostile })
    expect((await shownVerdict(page)).text).toContain(
      'not in the key set; get key sets only from the service itself',
    )
    await page.getByText('Raw payload and signature').click()
    expect(await page.locator('.exact .facts').last().innerText()).toContain('[U+202E]evil')
    await bringAnother(page)
    await drop(page, '.drop-zone', { files: [RECEIPT], name: `${hostile}.json` })
    expect((await shownVerdict(page)).text).toContain(`From the file ${script}[U+202E]evil[U+200B].json.`)
    const { intent: _gone, ...bare } = vote()
    await bringAnother(page)
    await paste(page, { ...answerWith(bare), action: hostile })
    expect((await shownVerdict(page)).kind).toBe('invalid')
    expect(await page.locator('main').innerText()).not.toContain('alert(1)</script><img')
    expect(await page.locator('main img, main script').count()).toBe(0)
    expect(incidents).toEqual([])
  })

  it('checks without any call, and offline, with a key set of one’s own', async () => {
    const { page, calls } = await open()
    await page.getByText('Use a saved key set').click()
    const jwks = page.getByLabel('Key set (jwks.json)')
    for (const [text, words] of [
      ['nonsense', 'a key set is an object with an array "keys"'],
      ['{"keys":[],"keys":[]}', 'a key set is an object with an array "keys"'],
      [JSON.stringify({ keys: [{ ...JWKS.keys[0], kid: 'x\u202e' }] }), 'kid x[U+202E] is not the RFC 7638'],
    ] as const) {
      await jwks.fill(text)
      await page.getByRole('button', { name: 'Use this key set' }).click()
      await page.locator('.field-error').getByText(words).waitFor()
    }
    await jwks.fill(JSON.stringify(JWKS))
    await page.getByRole('button', { name: 'Use this key set' }).click()
    await page.getByText('These 2 keys are used from now on').waitFor()
    await page.context().setOffline(true)
    await paste(page, RECEIPT)
    const verdict = await shownVerdict(page)
    expect(verdict.kind).toBe('approved')
    expect(verdict.text).toContain('against the key set that you pasted')
    expect(calls).toEqual([])
    await jwks.fill(JSON.stringify(toJwks([sandbox])))
    await page.getByRole('button', { name: 'Use this key set' }).click()
    await page.getByText('This one key is used from now on').waitFor()
    await page.locator('.verdict.invalid').waitFor()
    expect(await checksIn(page, 'failed')).toEqual(['Known key'])
    await page.context().setOffline(false)
    await page.getByRole('button', { name: 'Clear' }).click()
    await page.locator('.verdict.approved').waitFor()
    expect(calls.map((request) => new URL(request.url()).pathname)).toEqual(['/.well-known/jwks.json'])
  })

  it('holds a bundle to a policy of one’s own, and calls it good but not enough where less is there', async () => {
    const { page } = await open()
    const [made, more] = [
      await makeBundle({ witnesses: 1, enrolled: {} }),
      await makeBundle({ witnesses: 2 }),
    ]
    await paste(page, made.text)
    const alone = await shownVerdict(page)
    expect([alone.kind, await checksIn(page, 'unmade')]).toEqual([
      'approved',
      ['Signed by the log and witnesses'],
    ])
    expect(alone.text).toContain('not checked: there is no trust policy')
    expect(alone.text).toContain('For each approver, a passkey signed exactly this.')

    await page.getByText('Use a trust policy', { exact: true }).click()
    const policy = page.getByLabel('Trust policy (trust.policy)')
    const use = page.getByRole('button', { name: 'Use this policy' })
    await policy.fill('log x')
    await use.click()
    await page.getByText('This cannot be used: line 1 of the policy: ').waitFor()
    const file = join(tmpdir(), `trust-${process.pid}.policy`)
    await writeFile(file, more.policy)
    const choosing = page.waitForEvent('filechooser')
    await page.getByRole('button', { name: 'Choose trust.policy' }).click()
    await (await choosing).setFiles(file)
    await page.getByText('1 log and 2 witnesses are trusted from now on.').waitFor()
    const unmet = page.locator('.verdict.unmet')
    expect(await unmet.innerText()).toContain('Good, but your policy is not met')
    expect(await unmet.innerText()).toContain('Fewer witnesses')
    expect(await checksIn(page, 'unmet')).toEqual(['Witnesses'])

    await policy.fill(made.policy)
    await use.click()
    await page.locator('.verdict.approved').waitFor()
    expect(await page.locator('.verdict').innerText()).toMatch(
      /Each approver’s own passkey signed exactly this\. The log of your policy has it, witnessed by witness-1\.example\.org at \d{4}-[\dT:-]+Z\./,
    )
    expect(await checksIn(page, 'passed')).toEqual(
      expect.arrayContaining(['Whose passkey', 'Signed by the log', 'Witnesses']),
    )
    await policy.fill(made.policy.replace(/group .*\nquorum .*/, 'quorum none'))
    await use.click()
    await expect.poll(() => checksIn(page, 'absent')).toContain('Witnesses')
    await paste(page, RECEIPT)
    expect(await shownVerdict(page)).toMatchObject({
      kind: 'unmet',
      text: expect.stringContaining('countersign.receipt.json'),
    })
    await page.getByRole('button', { name: 'Clear' }).click()
    await page.locator('.verdict.approved').waitFor()
  })

  it('checks nothing while the keys of the service cannot be had, or cannot be trusted', async () => {
    const { page } = await open()
    for (const [answer, words] of [
      [{ status: 503, body: '' }, 'could not be fetched, so nothing was checked'],
      [{ body: 'no json' }, 'publishes a key set that cannot be trusted'],
      [{ json: { keys: [JWKS.keys[0], JWKS.keys[0]] } }, 'the key set repeats a kid'],
    ] as const) {
      await page.unroute('**/.well-known/jwks.json')
      await page.route('**/.well-known/jwks.json', (route) => route.fulfill(answer))
      await paste(page, RECEIPT)
      await page.locator('.notice-slot').getByText(words).waitFor()
      expect(await page.locator('.verdict').count()).toBe(0)
    }
    await page.route('**/api/v1/approvals/**', (route) =>
      route.fulfill({ status: 429, json: { error: 'x' } }),
    )
    await paste(page, 'req_00000000000000000000000001')
    await page.getByText('Too many verifications from your address').waitFor()
  })

  it('compares an action and details somebody knows of, and says how weak the short hash is', async () => {
    const { page, calls } = await open()
    const compare = async (action: string, context = ''): Promise<string[]> => {
      await page.getByLabel('Action', { exact: true }).fill(action)
      await page.getByLabel('Details (context), as JSON').fill(context)
      await page.getByRole('button', { name: 'Compare' }).click()
      await page.locator('form[aria-disabled]').waitFor({ state: 'detached' })
      return page.locator('.compared .notice').allInnerTexts()
    }
    const { action, context, decision } = answerWith(vote())
    await paste(page, decision)
    await shownVerdict(page)
    await page.getByText('Compare with an action that you know').click()
    expect(await compare(action, JSON.stringify(context))).toEqual([
      expect.stringContaining('exactly the action that was decided on'),
      expect.stringContaining('exactly the details that were decided on'),
    ])
    expect(await compare(`${action}!`, '{}')).toEqual([
      expect.stringContaining('not the action'),
      expect.stringContaining('not the details'),
    ])
    expect(await compare('', '{')).toEqual([expect.stringContaining('not a JSON object')])
    const { intent: _gone, ...bare } = decision
    await bringAnother(page)
    await paste(page, bare)
    await shownVerdict(page)
    await page.getByText('Compare with an action that you know').click()
    const [said, unsaid] = await compare(action, '{}')
    expect(said).toContain('Probably the same, but this cannot be proven here.')
    expect(said).toContain('could have prepared a second text')
    expect(unsaid).toContain('cannot be compared')
    expect(new Set(calls.map((request) => new URL(request.url()).pathname))).toEqual(
      new Set(['/.well-known/jwks.json']),
    )
  })

  it('works with the keyboard alone, and says the result aloud', async () => {
    const { page } = await open()
    const tabTo = async (name: string): Promise<void> => {
      for (let presses = 0; presses < 20; presses += 1) {
        const now: unknown = await page.evaluate(
          `(document.activeElement.labels?.[0] ?? document.activeElement).textContent`,
        )
        if (now === name) return
        await page.keyboard.press('Tab')
      }
      throw new Error(`Tab never reached ${name}`)
    }
    // Listened for before the many calls of the tabbing: Chromium must know of it before the key is pressed.
    const choosing = page.waitForEvent('filechooser')
    await tabTo('Choose a file')
    await page.keyboard.press('Enter')
    await choosing
    await tabTo('Receipt, link or id')
    await page.keyboard.insertText(RECEIPT)
    await tabTo('Check')
    await page.keyboard.press('Enter')
    const verdict = await shownVerdict(page)
    expect(await page.locator('#announcements').innerText()).toBe(verdict.heading)
    // No person went to the heading; a ring marks what they can use.
    const ring = () => page.evaluate(`getComputedStyle(document.activeElement).outlineStyle`)
    expect(await ring()).toBe('none')
    await page.keyboard.press('Tab')
    expect(await ring()).toBe('solid')
  })

  it('is loaded by nobody else: other pages fetch neither it nor the signature library', async () => {
    const { page } = await suite.visit()
    const scripts = new Set<string>()
    page.on('request', (request) => {
      if (request.url().endsWith('.js')) scripts.add(request.url())
    })
    /** The option that only the library for signatures knows. */
    const withLibrary = async (): Promise<number> => {
      const texts = await Promise.all([...scripts].map(async (url) => (await fetch(url)).text()))
      return texts.filter((text) => text.includes('zip215')).length
    }
    await page.goto('/account')
    await page.locator('main h1').waitFor()
    await page.goto('/signin')
    await page.locator('main h1').waitFor()
    expect(scripts.size).toBeGreaterThan(1)
    expect(await withLibrary()).toBe(0)
    await openVerify(page)
    expect(await withLibrary()).toBe(1)
  })
})
