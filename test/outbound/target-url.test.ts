import { readFileSync } from 'node:fs'
import { isIP } from 'node:net'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { packagePath } from '../../src/config/package-path.ts'
import { createTargetUrls, type TargetRules } from '../../src/outbound/target-url.ts'

const { self, cases } = z
  .object({
    self: z.string(),
    cases: z.array(z.object({ url: z.string(), allow: z.boolean(), why: z.string() })).min(40),
  })
  .parse(JSON.parse(readFileSync(packagePath('test/vectors/ssrf/url_cases.json'), 'utf8')))

const rules: TargetRules = {
  baseUrl: `https://${self}`,
  production: true,
  allowPrivate: false,
  ports: [443],
}
const NOT_ABSOLUTE = 'must be an absolute URL, such as https://example.com/hook'
const production = createTargetUrls(rules)
const development = createTargetUrls({ ...rules, production: false })
const open = createTargetUrls({
  ...rules,
  production: false,
  allowPrivate: true,
  baseUrl: 'http://localhost:3000',
})

describe('T1, T6, T11: in production', () => {
  it.each(cases)('$url → $allow ($why)', ({ url, allow }) => {
    expect('href' in production.read(url)).toBe(allow)
  })

  it.each([
    ['https://Hooks.Example.com:443/a/../b?c=d', 'https://hooks.example.com/b?c=d', 'hooks.example.com'],
    ['https://hooks.example.com./x', 'https://hooks.example.com./x', 'hooks.example.com'],
    ['https://bücher.example/ü', 'https://xn--bcher-kva.example/%C3%BC', 'xn--bcher-kva.example'],
  ])('keeps the parsed form of %s', (text, href, host) => {
    expect(production.read(text)).toEqual({ href, host })
  })

  it.each([
    [`https://${self}/`, 'must not point to this service'],
    [`https://${self.toUpperCase()}./`, 'must not point to this service'],
    [`https://${self}:8443/`, 'must not point to this service'],
    ['http://hooks.example.com/', 'must be an https: URL'],
    ['https://hooks.example.com:8443/', 'must use port 443'],
    ['https://hooks.example.com/#', 'must not contain a fragment'],
    ['https://@hooks.example.com/', 'must not contain a user name or password'],
    ['https://hooks%2Eexample.com/', 'must not contain an escaped host name'],
    [`https://hooks.example.com/${'./'.repeat(1020)}`, 'must not exceed 2048 characters'],
    ['not a url', NOT_ABSOLUTE],
    ['https:hooks.example.com', NOT_ABSOLUTE],
    ['https:/hooks.example.com', NOT_ABSOLUTE],
    ['https:////hooks.example.com', NOT_ABSOLUTE],
    ['https:\\\\hooks.example.com\\x', NOT_ABSOLUTE],
    ['https://[::1%25eth0]/', NOT_ABSOLUTE],
    ['https://10.1/', 'must name a host, not an IP address'],
    ['https://１２７.0.0.1/', 'must name a host, not an IP address'],
    ['https://0x7f.1./', 'must name a host, not an IP address'],
    ['https://[2001:4860:4860::8888]/', 'must name a host, not an IP address'],
    ['https://localhost./', 'must name a host of the public internet'],
    ['https://ｌｏｃａｌhost/', 'must name a host of the public internet'],
    ['https://printer.local/', 'must name a host of the public internet'],
    ['https://nas.lan/', 'must name a host of the public internet'],
    ['https://ipv4only.arpa/', 'must name a host of the public internet'],
    ['https://a..example.com/', 'must name a host of the public internet'],
    ['https://hooks.example.com../', 'must name a host of the public internet'],
    ['https://hooks,evil.example.com/', 'must name a host of the public internet'],
    [`https://${'a'.repeat(64)}.example.com/`, 'must name a host of the public internet'],
    [`https://${'abcdefgh.'.repeat(29)}com/`, 'must name a host of the public internet'],
    ['https://hooks.exam\u00adple.com/', 'must not contain the invisible character U+00AD'],
    ['https://hooks.example.com/\u200b', 'must not contain the invisible character U+200B'],
    ['https://hooks.example.com/\u{e0041}', 'must not contain the invisible character U+E0041'],
    ['https://hooks.example.com/\ud800', 'must not contain the invisible character U+D800'],
    ['https://hooks.example.com\\x', 'must not contain a backslash'],
    [`https://hooks.example.com/${'ü'.repeat(500)}`, 'must not exceed 2048 characters'],
  ])('refuses %s: %s', (text, problem) => {
    expect(production.read(text)).toEqual({ problem })
  })

  it('may call other ports when they are set, and then only those', () => {
    const targets = createTargetUrls({ ...rules, ports: [8443, 9443] })
    expect(targets.read('https://hooks.example.com:9443/')).toHaveProperty('href')
    expect(targets.read('https://hooks.example.com/')).toEqual({ problem: 'must use port 8443 or 9443' })
  })
})

describe('outside production', () => {
  const hint = '; for development CALLBACK_ALLOW_PRIVATE=1 allows http: and private receivers'

  it.each(['https://hooks.example.com:8443/', 'https://8.8.8.8/', 'https://[2001:4860:4860::8888]:444/'])(
    'allows %s',
    (text) => expect(development.read(text)).toMatchObject({ href: text }),
  )

  it.each([
    ['http://hooks.example.com/', `must be an https: URL${hint}`],
    ['https://127.0.0.1/', `must not be a private or reserved address${hint}`],
    ['https://[::ffff:8.8.8.8]/', `must not be a private or reserved address${hint}`],
    ['https://localhost/', `must name a host of the public internet${hint}`],
    ['https://intranet/', `must name a host of the public internet${hint}`],
    [`https://${self}:8443/`, 'must not point to this service'],
    ['https://u:p@hooks.example.com/', 'must not contain a user name or password'],
  ])('refuses %s: %s', (text, problem) => {
    expect(development.read(text)).toEqual({ problem })
  })
})

describe('with CALLBACK_ALLOW_PRIVATE=1', () => {
  it.each([
    ['http://localhost:4000/hook', 'localhost'],
    ['http://127.0.0.1:4000/hook', '127.0.0.1'],
    ['https://[fd00::1]/hook', '[fd00::1]'],
    ['http://intranet/hook', 'intranet'],
    ['https://hooks.example.com:8443/', 'hooks.example.com'],
  ])('allows %s', (text, host) => {
    expect(open.read(text)).toEqual({ href: text, host })
  })

  it.each([
    ['http://localhost:3000/healthz', 'must not point to this service'],
    ['http://127.0.0.1:3000/healthz', 'must not point to this service'],
    ['http://[::1]:3000/healthz', 'must not point to this service'],
    ['http://localhost.:3000/healthz', 'must not point to this service'],
    ['http://localhost:0/', 'must not use port 0'],
    ['ftp://localhost/', 'must be an https: URL'],
    ['http://u:p@localhost:4000/', 'must not contain a user name or password'],
    ['http://localhost:4000/ x', 'must not contain a blank'],
  ])('still refuses %s: %s', (text, problem) => {
    expect(open.read(text)).toEqual({ problem })
  })
})

/** Pieces that parsers have disagreed about, put together at random. */
const piece = fc.constantFrom(
  ...[
    'https:',
    'http:',
    '/',
    '//',
    '\\',
    '@',
    ':',
    '#',
    '?',
    '%',
    '%2e',
    '%31',
    '.',
    '。',
    '．',
    '\t',
    ' ',
    '\u00ad',
  ],
  ...[
    '127',
    '0x7f',
    '0177',
    '1',
    '0',
    '2130706433',
    '[::1]',
    '[::ffff:7f00:1]',
    '①',
    '１',
    '443',
    '80',
    '-',
    '_',
  ],
  ...[
    'localhost',
    'LOCALHOST',
    'local',
    'internal',
    'example',
    'com',
    'ⓔⓧ',
    'ſ',
    'ß',
    'K',
    'xn--',
    'svc',
    '\u200d',
  ],
)
const hostile = fc.oneof(
  fc.array(piece, { maxLength: 12 }).map((pieces) => pieces.join('')),
  fc.array(piece, { maxLength: 10 }).map((pieces) => `https://${pieces.join('')}`),
  fc
    .tuple(fc.domain(), fc.array(piece, { maxLength: 5 }))
    .map(([host, rest]) => `https://${host}${rest.join('')}`),
  fc
    .tuple(fc.array(piece, { maxLength: 5 }), fc.domain())
    .map(([rest, host]) => `https://${rest.join('')}${host}/`),
  fc.webUrl({ withFragments: true, withQueryParameters: true, validSchemes: ['https', 'http'] }),
  fc.string({ unit: 'binary' }).map((text) => `https://hooks.example.com/${text}`),
  fc.ipV4Extended().map((host) => `https://${host}/`),
  fc.ipV6().map((host) => `https://[${host}]/`),
)

describe('T6: whatever comes in', () => {
  it('what is accepted parses to itself, is accepted again, and names a public host over https: on 443', () => {
    let accepted = 0
    fc.assert(
      fc.property(hostile, (text) => {
        const target = production.read(text)
        if ('problem' in target) return
        accepted += 1
        const url = new URL(target.href)
        expect(url.href).toBe(target.href)
        expect(production.read(target.href)).toEqual(target)
        expect([url.protocol, url.port, url.username, url.password, url.hash]).toEqual([
          'https:',
          '',
          '',
          '',
          '',
        ])
        expect(isIP(target.host.replace(/[[\]]/g, ''))).toBe(0)
        expect(target.host).toMatch(/^[a-z0-9_-]+(\.[a-z0-9_-]+)+$/)
        expect(target.host).not.toMatch(/(^|\.)(localhost|local|internal|svc|arpa)$/)
        expect(target.host).not.toBe(self)
      }),
      { numRuns: 3000 },
    )
    expect(accepted).toBeGreaterThan(300)
  })

  it('never throws', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 60 }), (text) => {
        for (const targets of [production, development, open])
          expect(Object.keys(targets.read(text)).length).toBeGreaterThan(0)
      }),
    )
  })
})
