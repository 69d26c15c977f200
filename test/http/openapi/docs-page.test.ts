import { describe, expect, it, onTestFinished } from 'vitest'
import { WEBHOOKS } from '../../../src/http/api/events.ts'
import { renderDocs } from '../../../src/http/docs/page.ts'
import { buildOpenApi } from '../../../src/http/openapi.ts'
import {
  axeViolations,
  describeInBrowser,
  newVisitor,
  overflow,
  sharedBrowser,
} from '../../support/browser.ts'
import { committedDocument, documentedOperations } from '../../support/documented.ts'
import { useService } from '../../support/service.ts'

const POLICY =
  "default-src 'none'; style-src 'self'; script-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"

describe('the page at /docs', () => {
  it('has a policy of its own, no inline script, and is not stored like a private answer', async () => {
    const service = await useService()
    const response = await fetch(`${service.url}/docs`)
    const page = await response.text()
    expect(response.status).toBe(200)
    expect(response.headers.get('Content-Type')).toBe('text/html; charset=utf-8')
    expect(response.headers.get('Content-Security-Policy')).toBe(POLICY)
    expect(response.headers.get('Cache-Control')).toBe('no-cache')
    expect(response.headers.get('Set-Cookie')).toBeNull()
    expect(page).not.toMatch(
      /<script(?! (?:defer )?src="\/docs\/[0-9a-f]{12}\.js"><\/script>)|<style|\sstyle=|\son[a-z]+=|src="https?:/i,
    )
  })

  it('is the same for everybody and need not be sent twice', async () => {
    const service = await useService()
    const first = await fetch(`${service.url}/docs`)
    const headers = {
      Authorization: 'Bearer x',
      Cookie: `countersign-${service.port}=x`,
      'Accept-Language': 'de',
    }
    const other = await fetch(`${service.url}/docs`, { headers })
    expect(await other.text()).toBe(await first.text())
    const tag = first.headers.get('ETag') ?? ''
    // Without a Cache-Control of its own, fetch would ask for the whole page.
    const again = await fetch(`${service.url}/docs`, {
      headers: { 'If-None-Match': tag, 'Cache-Control': 'max-age=0' },
    })
    expect(again.status).toBe(304)
  })

  it('comes compressed, with a call to copy for what programs ask', async () => {
    const service = await useService()
    const { headers } = await fetch(`${service.url}/docs`, { headers: { 'Accept-Encoding': 'gzip' } })
    expect([headers.get('Content-Encoding'), headers.get('Vary')]).toEqual(['gzip', 'Accept-Encoding'])
    const page = await (await fetch(`${service.url}/docs`)).text()
    expect(page).toContain('curl -X POST &#34;$BASE_URL/api/v1/approvals/request&#34;')
    expect(page).toContain('curl &#34;$BASE_URL/api/v1/approvals/$ID&#34;')
    expect(page).toContain('<a href="/">Dashboard</a>')
  })

  it('asks for no field that may be left out: generators of clients demand what has a default', () => {
    expect(JSON.stringify(committedDocument())).not.toContain('"default":false')
    expect(JSON.stringify(committedDocument())).not.toContain('"default":{}')
  })

  it('links a stylesheet of our own origin whose address changes with it', async () => {
    const service = await useService()
    const page = await (await fetch(`${service.url}/docs`)).text()
    const href = /<link rel="stylesheet" href="(\/docs\/[0-9a-f]{12}\.css)">/.exec(page)?.[1]
    const sheet = await fetch(`${service.url}${href}`)
    expect(sheet.status).toBe(200)
    expect(sheet.headers.get('Content-Type')).toBe('text/css; charset=utf-8')
    expect(sheet.headers.get('Cache-Control')).toBe('public, max-age=31536000, immutable')
    expect(await sheet.text()).toContain('prefers-color-scheme: dark')
  })

  it('shows every operation, and every link inside it leads somewhere', async () => {
    const service = await useService()
    const page = await (await fetch(`${service.url}/docs`)).text()
    expect(page).toBe(renderDocs(Object(committedDocument())))
    const ids = [...page.matchAll(/ id="([^"]+)"/g)].map((match) => match[1])
    const links = [...page.matchAll(/ href="#([^"]+)"/g)].map((match) => match[1])
    expect(new Set(ids).size).toBe(ids.length)
    expect(links.filter((id) => !ids.includes(id))).toEqual([])
    const shown = [...page.matchAll(/<details id="[a-z]/g)]
    expect(shown).toHaveLength(documentedOperations().length + Object.keys(WEBHOOKS).length)
    expect(Buffer.byteLength(page)).toBeLessThanOrEqual(1_450 * shown.length)
  })

  it('shows the fields of every schema, under its name or where it is the only use of it', () => {
    const document = buildOpenApi('0')
    const page = renderDocs(document)
    const fields = Object.entries(document.components?.schemas ?? {}).flatMap(([name, schema]) => {
      const [first] = 'properties' in schema ? Object.keys(schema.properties) : []
      return first === undefined ? [] : [[name, first]]
    })
    const hidden = fields.filter(([name, first]) => {
      const place = `(id="${name}"|: ${name}(\\[\\]| or null)*<dd>)((?!<dt>).)*<dl><dt>${first}\\b`
      return !new RegExp(place, 's').test(page)
    })
    expect(fields.length).toBeGreaterThan(100)
    expect(hidden).toEqual([])
  })

  it('shows text as text, whatever it holds', () => {
    const hostile = `<img src=x onerror="alert(1)">&'`
    const document = JSON.stringify(committedDocument()).replaceAll(
      'Make a request',
      JSON.stringify(hostile).slice(1, -1),
    )
    const page = renderDocs(JSON.parse(document))
    expect(page).not.toContain('<img')
    expect(page).toContain('&#60;img src=x onerror=&#34;alert(1)&#34;&#62;&#38;&#39;')
  })
})

describeInBrowser('the filter of /docs', () => {
  it('leaves what is named like that, else what mentions it, says how much, and ends where a link leads out of it', async () => {
    const service = await useService()
    const { context, page, incidents } = await newVisitor(await sharedBrowser(), service.url, {
      viewport: { width: 390, height: 844 },
    })
    onTestFinished(() => context.close())
    await page.goto('/docs')
    const box = page.getByLabel('Filter')
    const status = page.locator('[role=search] > [role=status]')
    const shown = () => page.locator('main details:not([hidden]) > summary').allInnerTexts()
    const all = (await shown()).length
    // A list that a thumb gets through; in full it is 480 screens.
    expect(await page.evaluate('document.body.scrollHeight')).toBeLessThan(40 * 844)
    expect(await page.locator('th').allInnerTexts()).toEqual(['Counted by', 'What', 'At most'])
    expect(await page.locator('tbody > tr').first().innerText()).toBe(
      'API key\tcalls that create requests, also refused ones\t60 a minute',
    )
    // Not the wheel, which scrolls whenever it likes.
    expect(await page.evaluate('scrollTo(0, 4000), scrollY')).toBeGreaterThan(0)
    await box.fill('Make a request')
    expect(await shown()).toEqual(['Make a request POST /api/v1/approvals/request'])
    expect(await status.innerText()).toBe('1 found')
    expect(await page.locator('main > section:not([hidden]) > h2').allInnerTexts()).toEqual(['Approvals'])
    expect(await page.evaluate('scrollY')).toBe(0)
    expect(await axeViolations(page)).toEqual([])
    expect(await overflow(page)).toBeLessThanOrEqual(0)
    await box.press('Enter')
    expect(await page.evaluate('document.activeElement.textContent')).toMatch(/^Make a request/)
    await context.grantPermissions(['clipboard-read', 'clipboard-write'])
    await page.getByRole('button', { name: 'Copy the call: Make a request' }).click()
    await expect.poll(() => status.innerText()).toBe('Copied')
    expect(await page.evaluate('navigator.clipboard.readText()')).toMatch(/^curl -X POST .*\n {2}-d '.*'$/s)
    const out = page.locator('main details:not([hidden]) a[href^="#"]').first()
    const target = await out.getAttribute('href')
    await out.click()
    await expect.poll(async () => (await shown()).length).toBe(all)
    expect(await page.evaluate(`'#' + document.querySelector(':target').id`)).toBe(target)
    expect(await page.locator(':target dl').first().isVisible()).toBe(true)
    await box.fill('already_consumed')
    expect(await status.innerText()).toMatch(/^None by name, mentioned in \d+$/)
    await box.fill('Retry-After')
    expect(await status.innerText()).toMatch(/^None by name, mentioned in the introduction and \d+$/)
    expect(await page.locator('th').first().isVisible()).toBe(true)
    for (const [word, place] of [
      ['limits', page.locator('th').first()],
      ['internal_service_token', page.getByRole('heading', { name: 'Who may call' })],
    ] as const) {
      await box.fill(word)
      expect(await status.innerText()).toBe('None by name, mentioned in the introduction')
      expect(await place.isVisible()).toBe(true)
    }
    await box.fill('xyzzy')
    expect(await status.innerText()).toBe('Nothing found')
    await box.press('Escape')
    expect([(await shown()).length, await status.innerText()]).toEqual([all, ''])
    expect(incidents).toEqual([])
  })
})
