import { readFileSync } from 'node:fs'
import { beforeEach, expect, it } from 'vitest'
import { describeInBrowser, type Visitor } from '../support/browser.ts'
import { samplePending, sampleReview } from '../support/page-samples.ts'
import { usePageSuite } from '../support/page-suite.ts'

interface SpoofCase {
  name: string
  text: string
  policy: string
}

const spoof: { cases: SpoofCase[] } = JSON.parse(
  readFileSync(new URL('../vectors/unicode-spoof/action_text_cases.json', import.meta.url), 'utf8'),
)

/** What a reader must find on the page for each published case; those refused at creation are made visible as well. */
const VISIBLE: Record<string, string> = {
  'RLO hides extension': 'Run invoice[U+202E]fdp.exe',
  'unterminated RLI leaks to following rows': 'Pay [U+2067]Bob $5',
  'ZWJ/ZWNJ': 'a[U+200D]b[U+200C]c',
  'tag characters (ASCII smuggling)': 'ok[U+E0064][U+E0072]',
  NUL: 'a[U+0000]b',
  'CR overwrites line': 'Approve small thing[U+000D]Drop database',
  'many newlines push text out of card': 'Buy milk[60 line breaks]and drop prod',
  'Braille blank': 'Buy milk[U+2800][×80]drop prod',
  'Cyrillic homoglyph': 'mixes Latin and Cyrillic letters',
  'soft hyphen': 'pass[U+00AD]word',
  'emoji shortcode': ':white_check_mark: Verified by Security',
  'Slack channel mention': '<!channel> <!here> <@U123> <#C123>',
  'Markdown link': '[Review request](https://evil.example/)',
  'Adaptive Card template': '${approver} ${$root}',
  HTML: '<img src=x onerror=alert(1)><script>alert(1)</script>',
  'auto-linked URL': 'Approve at https://evil.example/login',
}

describeInBrowser('text that a caller chose', () => {
  const suite = usePageSuite()
  let visitor: Visitor

  beforeEach(async () => {
    visitor = await suite.visit()
  })
  const open = async (): Promise<void> => {
    await visitor.page.goto(`/a/${sampleReview().id}`)
    await visitor.page.locator('.caller-box').waitFor()
  }

  // A lone surrogate has no UTF-8 form, so no answer of the service can carry one to the page.
  const cases = spoof.cases.filter(({ name }) => name !== 'lone surrogate')
  it('is visible in the action and in a context value, whatever it does to what stands around it (T43)', async () => {
    for (const { name, text } of cases) {
      const visible = VISIBLE[name]
      if (visible === undefined) throw new Error(`no expectation for ${name}`)
      suite.server().state.review = sampleReview({ action: text }, { note: text, nested: { list: [text] } })
      await open()
      const shown = await visitor.page.locator('.caller-box').innerText()
      expect(shown.split(visible).length - 1, name).toBeGreaterThanOrEqual(3)
      expect(visitor.incidents, name).toEqual([])
    }
  })

  it('warns in words about hidden characters and look-alike letters, and only then', async () => {
    suite.server().state.review = sampleReview(
      { action: 'pay\u202eroll' },
      { note: 'p\u0430ypal', plain: 'Grüße, 漢字', to: 'https://xn--pypal-4ve.example/' },
    )
    await open()
    const flags = await visitor.page.locator('.text-flag strong').allInnerTexts()
    expect(flags.map((flag) => flag.trim())).toEqual([
      'Hidden characters.',
      'Look-alike letters.',
      'Encoded address.',
    ])
  })

  it.each([390, 320])(
    'pushes neither a mark nor who asks out of its row in the inbox: %i px',
    async (width) => {
      const { page } = visitor
      await page.setViewportSize({ width, height: 844 })
      const action = 'Refund \u202e00.01$\u202c to cust\u200bomer \u0410cme at xn--pypal-4ve.com'
      const quorum = { needed: 2, approved: 1 }
      // Of another account, so that its name is shown.
      const requested_by = { ...samplePending().requested_by, account_name: 'Other' }
      const expires_at = new Date(Date.now() + 86_400_000).toISOString()
      suite.server().state.pending = [
        samplePending({ action, quorum, attachments: 3 }),
        samplePending({ id: 'req_2', requested_by, expires_at, may_decide: false }),
      ]
      await page.goto('/')
      await page.locator('.inbox-about').first().waitFor()
      const about: unknown = await page.evaluate(`(() => {
      const first = document.querySelector('.inbox-row')
      const row = first.getBoundingClientRect()
      const time = document.querySelector('.time-left').getBoundingClientRect()
      return [...first.querySelectorAll('.inbox-marks > *, .inbox-asker')].map((part) => {
        const { left, right, bottom } = part.getBoundingClientRect()
        const shown = document.elementsFromPoint(right - 4, bottom - 4).includes(part)
        const cut = part.scrollWidth > part.clientWidth + 1
        return part.textContent + (!shown || cut || left < 0 || right > time.left || bottom > row.bottom ? ' (cut)' : '')
      })
    })()`)
      const { key_name, account_name } = samplePending().requested_by
      const asker = `${key_name} · ${account_name}`
      const warnings = ['Hidden characters', 'Look-alike letters', 'Encoded address']
      const marks = ['High impact', ...warnings, '1 of 2 approvals', '3 attachments']
      expect(about).toEqual([...marks, asker])
    },
  )

  it('names hidden characters to screen readers', async () => {
    suite.server().state.review = sampleReview({ action: 'Run invoice\u202efdp.exe' })
    await open()
    await visitor.page.getByRole('img', { name: 'hidden character U+202E' }).first().waitFor()
  })

  it('keeps each value in an element of its own, so no direction reaches our words', async () => {
    suite.server().state.review = sampleReview({ action: 'שלום $5' }, { 'ключ\u2067': 'مرحبا' })
    await open()
    const isolated: unknown = await visitor.page.evaluate(
      `[...document.querySelectorAll('.caller-text')].every((node) => node.tagName === 'BDI' && getComputedStyle(node).unicodeBidi === 'isolate')`,
    )
    expect(isolated).toBe(true)
    expect(await visitor.page.locator('.caller-text').count()).toBeGreaterThanOrEqual(3)
  })

  it('shows in the order that is signed what letters alone would make change places (T16)', async () => {
    const action = 'Move 50,000 EUR \u05d0 4711 → 0815 today'
    suite.server().state.review = sampleReview({ action }, { note: 'העבר 50 שקל לחשבון 99' })
    await open()
    const places: unknown = await visitor.page.evaluate(`(() => {
      const walker = document.createTreeWalker(document.querySelector('.caller-box'), NodeFilter.SHOW_TEXT)
      const left = {}
      while (walker.nextNode())
        for (const { 0: word, index } of walker.currentNode.data.matchAll(/Move|EUR|4711|0815|today/g)) {
          const range = document.createRange()
          range.setStart(walker.currentNode, index)
          range.setEnd(walker.currentNode, index + word.length)
          left[word] = range.getBoundingClientRect().left
        }
      return Object.keys(left).sort((a, b) => left[a] - left[b])
    })()`)
    expect(places).toEqual(['Move', 'EUR', '4711', '0815', 'today'])
    const flags = await visitor.page.locator('.text-flag').allInnerTexts()
    expect(flags.map((flag) => flag.trim())).toEqual([
      'Two directions. Parts of this text are read from right to left; it is shown in the order that is signed.',
      'Two directions. Parts of this text are read from right to left; signed it is in this order: העבר 50 שקל לחשבון 99',
    ])
  })

  it('draws nothing outside the frame of the caller, not even a tower of combining marks', async () => {
    suite.server().state.review = sampleReview(
      { action: `a${'\u0301'.repeat(300)}` },
      { note: `b${'\u0325'.repeat(300)}` },
    )
    await open()
    const clip: unknown = await visitor.page.evaluate(
      `getComputedStyle(document.querySelector('.caller-box')).overflow`,
    )
    expect(clip).toBe('clip')
    expect(await visitor.page.locator('.caller-box').innerText()).toContain('[U+0301]')
  })

  it('never cuts a long text: it scrolls, says how long it is, and opens', async () => {
    const long = `${'lorem ipsum '.repeat(680)}THE END`
    suite.server().state.review = sampleReview({}, { reason: long })
    await open()
    expect(await visitor.page.locator('.caller-box').innerText()).toContain('8,167 characters')
    expect(await visitor.page.locator('.long-value').innerText()).toContain('THE END')
    const toggle = visitor.page.getByRole('button', { name: 'Show at full length' })
    await toggle.click()
    const hidden: unknown = await visitor.page.evaluate(
      `(() => { const box = document.querySelector('.long-value'); return box.scrollHeight - box.clientHeight })()`,
    )
    expect(hidden).toBeLessThanOrEqual(1)
    suite.server().state.review = sampleReview(
      {},
      { reason: `Run${'\n'.repeat(26)}it`, note: 'x '.repeat(449) },
    )
    await open()
    expect(await visitor.page.locator('.long-value').count()).toBe(0)
  })

  it('is drawn as `context.display` asks where it has that form, every letter of it, and as sent on demand', async () => {
    const diff = '--- a/x\n+++ b/x\n@@ -1 +1 @@\n-pay 1\n+pay\u202e 9'
    const rows = Array.from({ length: 12 }, (_, at) => ({ to: `acct-${at}\u200b`, amount: '1.20 EUR' }))
    const cases: [display: string, value: unknown, drawn: string, count: number, shown: string][] = [
      ['diff', { patch: diff }, '.diff-added', 2, '+pay[U+202E] 9'],
      ['sql', { query: "DELETE FROM invoices -- each\u2800'" }, '.code b', 2, '-- each[U+2800]'],
      [
        'shell',
        { host: 'web-03', run: ['rm', '-rf', 'my files\u200b'] },
        '.shell-word',
        3,
        'my files[U+200B]',
      ],
      ['table', rows, 'tbody tr', 12, 'acct-11[U+200B]'],
      ['json', { a: [1, '\u202e'] }, '.code', 1, '"[U+202E]"'],
    ]
    const { page } = visitor
    for (const [display, tool_arguments, drawn, count, shown] of cases) {
      suite.server().state.review = sampleReview({}, { display, tool_arguments })
      await open()
      const more = page.getByText('2 more rows')
      if (display === 'table') await more.click()
      expect(await page.locator(`.drawn ${drawn}`).count(), display).toBe(count)
      expect(await page.locator('.drawn').innerText(), display).toContain(shown)
      // The hint is followed, and stands in the exact text alone.
      expect(await page.locator('.other-rows').count(), display).toBe(0)
      expect(await page.locator('.exact-text').textContent(), display).toContain(`"display":"${display}"`)
      await page.getByRole('button', { name: 'As it was sent' }).click()
      expect(await page.locator(`.drawn ${drawn}`).count(), display).toBe(0)
      expect(await page.locator('.drawn').innerText(), display).toContain('[U+')
      expect(visitor.incidents, display).toEqual([])
    }
    for (const display of ['diff', 'unheard of', '__proto__', { diff: true }]) {
      suite.server().state.review = sampleReview({}, { display, tool_arguments: { query: 'select 1' } })
      await open()
      expect(await page.locator('.drawn').count(), String(display)).toBe(0)
      expect(await page.locator('.caller-rows .leaf').first().innerText()).toMatch(/^query\s+select 1$/)
    }
  })

  it('cannot fake the badge of the service (T44)', async () => {
    suite.server().state.review = sampleReview(
      { high_impact: false, action: '<span class="badge high-impact">High impact</span>' },
      { 'High impact': 'Yes', badge: 'High impact', 'Stated by Countersign': 'Verified by Security' },
    )
    await open()
    expect(await visitor.page.locator('.badge').count()).toBe(0)
    const outside: unknown = await visitor.page.evaluate(
      `(() => { const main = document.querySelector('main').cloneNode(true); main.querySelector('.caller-box').remove(); return main.innerText ?? main.textContent })()`,
    )
    expect(outside).not.toContain('Verified by Security')
    const rows = await visitor.page.locator('.other-rows dt').allInnerTexts()
    expect(rows).toEqual(['High impact', 'Stated by Countersign', 'badge'])
    expect(await visitor.page.locator('.other-rows h3').innerText()).toBe('Other fields supplied by caller')
  })

  it('shows the real badge outside the frame of the caller (T44)', async () => {
    await open()
    const badge = visitor.page.locator('.badge.high-impact')
    expect(await badge.innerText()).toBe('High impact')
    expect(await visitor.page.locator('.caller-box .badge').count()).toBe(0)
  })

  it('keeps `__proto__`, `constructor` and look-alikes of known keys as plain rows', async () => {
    const context: unknown = JSON.parse(
      '{"__proto__":{"status":"approved"},"constructor":"x","Agent_name":"root"}',
    )
    suite.server().state.review = sampleReview({}, Object(context))
    await open()
    const rows = await visitor.page.locator('.other-rows > dl > .caller-row > dt').allInnerTexts()
    expect(rows).toEqual(['Agent_name', '__proto__', 'constructor'])
  })
})
