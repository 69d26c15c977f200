import { crc32, deflateSync } from 'node:zlib'
import { expect, it } from 'vitest'
import { axeViolations, describeInBrowser, overflow } from '../support/browser.ts'
import { alter } from '../support/caller.ts'
import { ask, obtainKey, readRequest, type SignedIn, useServiceSuite } from '../support/service-suite.ts'

/** 2 × 1 pixels. */
const PNG = 'iVBORw0KGgoAAAANSUhEUgAAAAIAAAABCAIAAAB7QOjdAAAADklEQVR4nGP4z8DwHwoBHvwD/YJgQFAAAAAASUVORK5CYII='

const OLD = Array.from({ length: 40 }, (_, at) => `line ${at}`).join('\n')
const NEW = OLD.replace('line 20', 'line 20\u202e evil').replace('line 30\n', '')

const ATTACHMENTS = [
  { name: 'old.yaml', text: OLD },
  { name: 'new.yaml', text: NEW, base: 'old.yaml' },
  { name: 'notes\u202efdp.txt', text: '<img src=x onerror=alert(1)>\n\n\n    p\u0430ypal\u200b\r\u0007' },
  { name: 'plan.png', base64: PNG },
  { name: 'model.bin', base64: 'AAEC' },
]

/** A whole PNG of 20,000 × 20,000 pixels in one bit each: 50 kB that a browser draws in 1.6 GB. */
function bomb(): Buffer {
  const header = Buffer.alloc(13)
  header.writeUInt32BE(20_000, 0)
  header.writeUInt32BE(20_000, 4)
  header[8] = 1
  const part = (name: string, data: Buffer) => {
    const body = Buffer.concat([Buffer.from(name), data])
    const [length, check] = [Buffer.alloc(4), Buffer.alloc(4)]
    length.writeUInt32BE(data.length)
    check.writeUInt32BE(crc32(body))
    return Buffer.concat([length, body, check])
  }
  const rows = deflateSync(Buffer.alloc(20_000 * 2501))
  const start = Buffer.from('89504e470d0a1a0a', 'hex')
  return Buffer.concat([start, part('IHDR', header), part('IDAT', rows), part('IEND', Buffer.of())])
}

describeInBrowser('attachments on the page', () => {
  const suite = useServiceSuite()
  let keys = 0
  const asked = async (body: object): Promise<{ owner: SignedIn; rawKey: string; id: string }> => {
    keys += 1
    const owner = await suite.signedIn(`attached${keys}@example.com`)
    const rawKey = await obtainKey(owner, 'coder')
    return { owner, rawKey, id: await ask(suite.service(), rawKey, { action: 'Write new.yaml', ...body }) }
  }
  const openedIn = (intent: string) =>
    JSON.parse(intent).attachments.map(({ opened }: { opened: boolean }) => opened)

  it('are shown as what they are, and whatever was not opened is said at the buttons and signed', async () => {
    const { owner, rawKey, id } = await asked({ attachments: ATTACHMENTS })
    const { page } = owner
    await page.setViewportSize({ width: 390, height: 844 })
    await page.goto(`/a/${id}`)
    const note = page.locator('.unopened:visible')
    await expect.poll(() => note.innerText()).toBe('5 attachments not opened')
    expect(await page.locator('.decision-bar .unopened').count()).toBe(1)
    const one = (at: number) => page.locator('.caller-box .attachment').nth(at)
    const open = async (at: number, ready: string) => {
      await one(at).locator('summary').first().click()
      await one(at).locator(ready).first().waitFor()
      return one(at).innerText()
    }
    const hostile = await open(2, 'pre')
    for (const shown of [
      'notes[U+202E]fdp.txt',
      '<img src=x onerror=alert(1)>\n\n\n    p',
      'ypal[U+200B][U+000D][U+0007]',
      'Look-alike letters',
      'Hidden characters',
    ])
      expect(hostile).toContain(shown)
    await expect.poll(() => note.innerText()).toBe('4 attachments not opened')
    const changes = await open(1, '.diff')
    expect(changes).toContain('Compared with old.yaml')
    expect(changes).toContain('[U+202E]')
    const lines = (kind: string) => one(1).locator(`${kind}.diff-line`).allInnerTexts()
    expect(await lines('del')).toEqual(['−line 20', '−line 30'])
    expect(await lines('ins')).toEqual(['+line 20[U+202E] evil'])
    expect(await one(1).locator('.diff-gap').allInnerTexts()).toEqual([
      '17 equal lines',
      '3 equal lines',
      '6 equal lines',
    ])
    // The former text was fetched with it.
    await expect.poll(() => note.innerText()).toBe('2 attachments not opened')
    await open(3, 'img')
    await expect
      .poll(() =>
        one(3)
          .locator('img')
          .evaluate((image) => Reflect.get(image, 'naturalWidth')),
      )
      .toBe(2)
    await open(4, 'code')
    await expect.poll(() => note.innerText()).toBe('1 attachment not opened')
    expect(await axeViolations(page)).toEqual([])
    expect(await overflow(page)).toBe(0)
    await page.setViewportSize({ width: 1440, height: 1000 })
    await page.emulateMedia({ colorScheme: 'dark' })
    expect(await axeViolations(page)).toEqual([])
    expect(await overflow(page)).toBe(0)
    await page.reload()
    await expect.poll(() => note.innerText()).toBe('1 attachment not opened')
    await page.getByRole('button', { name: 'Approve' }).click()
    await page.getByRole('heading', { name: 'Approved', exact: true }).waitFor()
    const { decision } = await readRequest(suite.service(), rawKey, id)
    expect(openedIn(Object(decision).intent)).toEqual([true, true, true, true, false])
    // Still there to be read.
    await open(0, 'pre')
  })

  it('downloads a file by its button alone, and then none is left', async () => {
    const { owner, id } = await asked({ attachments: ATTACHMENTS.slice(4) })
    const { page } = owner
    await page.goto(`/a/${id}`)
    await page.locator('.attachment summary').click()
    const download = page.waitForEvent('download')
    await page.getByRole('button', { name: 'Download' }).click()
    expect((await download).suggestedFilename()).toBe('model.bin')
    await page.locator('.unopened').waitFor({ state: 'hidden' })
  })

  it('stops where the bytes are not those that are signed (T16), and says when they cannot be loaded', async () => {
    const { owner, id } = await asked({ attachments: ATTACHMENTS.slice(0, 1) })
    const { page } = owner
    const bytes = `**/api/v1/approvals/${id}/attachments/0`
    await page.route(bytes, (route) => route.fulfill({ body: OLD.replace('line 3', 'line 4') }))
    await page.goto(`/a/${id}`)
    const fold = page.locator('.attachment')
    await fold.locator('summary').click()
    await fold.getByText('does not have the fingerprint that would be signed').waitFor()
    expect(await fold.innerText()).not.toContain('line 1')
    await page.unroute(bytes)
    await page.route(bytes, (route) => route.abort())
    await fold.getByRole('button', { name: 'Try again' }).click()
    await fold.getByText('could not be loaded').waitFor()
    expect(await page.locator('.unopened').innerText()).toBe('1 attachment not opened')
    await page.unroute(bytes)
    await fold.getByRole('button', { name: 'Try again' }).click()
    await fold.locator('pre').waitFor()
  })

  it('must be read before something of high impact is approved', async () => {
    const { owner, id } = await asked({
      attachments: ATTACHMENTS.slice(0, 1),
      requires_individual_decision: true,
    })
    const { page } = owner
    await page.goto(`/a/${id}`)
    await page.getByRole('button', { name: 'Approve' }).click()
    await page.getByText('1 field was not on your screen yet').waitFor()
    await page.getByRole('button', { name: 'See 1 more field' }).click()
    await page.locator('.attachment pre').waitFor()
    await page.locator('.unopened').waitFor({ state: 'hidden' })
  })

  it('are said in the inbox too, where many are decided with one gesture', async () => {
    const { owner, rawKey, id } = await asked({ attachments: ATTACHMENTS.slice(0, 2) })
    const { page } = owner
    await ask(suite.service(), rawKey, { action: 'Write nothing' })
    await page.goto('/')
    for (const box of [1, 2]) await page.getByRole('checkbox').nth(box).check()
    await page.getByRole('button', { name: /^Approve 2/ }).click()
    const dialog = page.getByRole('dialog')
    await expect.poll(() => dialog.locator('.unopened:visible').innerText()).toBe('2 attachments not opened')
    await dialog.locator('.attachment summary').first().click()
    await dialog.locator('.attachment pre').waitFor()
    await expect.poll(() => dialog.locator('.unopened:visible').innerText()).toBe('1 attachment not opened')
    await dialog.getByRole('button', { name: 'Approve 2 requests' }).click()
    await dialog.getByRole('heading', { name: 'Approved: 2 requests' }).waitFor()
    const { decision } = await readRequest(suite.service(), rawKey, id)
    expect(openedIn(Object(decision).intent)).toEqual([true, false])
  })

  it('draws no picture that would take gigabytes, also not of a request that was made before that was looked at', async () => {
    const { owner, id } = await asked({
      attachments: [{ name: 'bomb.png', base64: bomb().toString('base64') }],
    })
    const { page } = owner
    const one = page.locator('.attachment')
    await page.goto(`/a/${id}`)
    await one.locator('summary').click()
    await one.getByRole('button', { name: 'Download' }).waitFor()
    expect(await one.innerText()).toContain('SHA-256')
    await alter(suite.service(), 'requests', id, { 'attachments.0.kind': 'image' })
    await page.reload()
    await one.locator('summary').click()
    await one.getByText('This image cannot be shown. Download it').waitFor()
    expect(await one.locator('img').count()).toBe(0)
  })

  it('keeps a browser responsive with the most hostile text', async () => {
    const text = 'a\u202e\u0430\n\u05d0'.repeat(32 * 1024).slice(0, 120 * 1024)
    const { owner, id } = await asked({
      attachments: [
        { name: 'old', text: text.replaceAll('a', 'b') },
        { name: 'new', text, base: 'old' },
      ],
    })
    const { page } = owner
    await page.goto(`/a/${id}`)
    for (const [at, ready] of ['pre', '.diff'].entries()) {
      await page.locator('.attachment').nth(at).locator('summary').first().click()
      await page.locator('.attachment').nth(at).locator(ready).first().waitFor()
    }
  })
})
