import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { packagePath } from '../../src/config/package-path.ts'

/** Every line of code in `src`, comments left out. */
async function linesOfSource(): Promise<{ file: string; line: string }[]> {
  const root = packagePath('src')
  const files = (await readdir(root, { recursive: true })).filter((file) => file.endsWith('.ts'))
  const lines: { file: string; line: string }[] = []
  for (const file of files) {
    for (const line of (await readFile(join(root, file), 'utf8')).split('\n'))
      if (!/^\s*(?:\/\/|\/?\*)/.test(line)) lines.push({ file, line: line.replace(/\/\*.*?\*\//g, '') })
  }
  return lines
}

/** A regular expression literal: after what can stand before one, with classes and escapes. */
const LITERAL = /(?:^|[(=,:[!&|?{};>]|return)\s*\/((?:[^/\\[\n]|\\.|\[(?:[^\]\\]|\\.)*\])+)\/([dgimsuvy]*)/g

/** Every regular expression written in `src`, once, with the file where it is found first. */
async function regexesOfSource(): Promise<{ file: string; regex: RegExp }[]> {
  const found = (await linesOfSource()).flatMap(({ file, line }) =>
    [...line.matchAll(LITERAL)].map(([, body = '', flags = '']) => ({
      file,
      regex: new RegExp(body, flags.replace(/[gy]/g, '')),
    })),
  )
  return [...new Map(found.reverse().map((one) => [String(one.regex), one])).values()]
}

const SIZE = 65_536
const UNITS = [
  'a',
  '0',
  'A',
  ' ',
  '\t',
  '\n',
  '-',
  '_',
  '.',
  ':',
  '/',
  '@',
  '#',
  '"',
  '[',
  ']',
  '=',
  '%',
  'é',
  '\u202e',
  '😀',
  'a.',
  'a:',
  '1.',
  '1:',
  ':a',
  'eyJ',
  'eyJa.',
  '://a:',
  'Bearer ',
  'bearer  ',
  'sa_live_',
  'internal-',
  'boot_',
  'req_',
  '::',
  'mongodb://',
  'aA',
  '0x',
  '=-',
]
const STARTS = ['', '[', 'Bearer ', 'sa_live_', 'mongodb://', '::ffff:', 'a@', 'https://']

/** Units behind starts, of any size; what comes last is in no language. */
const TEXTS = UNITS.flatMap((unit) =>
  STARTS.map((start) => {
    const text = (size: number) => `${start}${unit.repeat(Math.ceil(size / unit.length))}\u0001`
    // Made once for all expressions: that takes longer than most of them do.
    return { text, long: text(SIZE) }
  }),
)

describe('T63: every regular expression in src is linear', () => {
  it('takes time in proportion to the text, for 64 kB of what should slow it down', async () => {
    const regexes = await regexesOfSource()
    expect(regexes.length).toBeGreaterThan(30)
    const slow = regexes.flatMap(({ file, regex }) => {
      const why = whySlow(regex)
      return why === undefined ? [] : `${file}: ${regex} ${why}`
    })
    expect(slow).toEqual([])
  })
})

/**
 * Comparisons that are no secret's: public hashes, the hash of an address, a length, types of signatures, a mark, and two ciphertexts
 * of our own store.
 */
const HARMLESS = [
  /linkHash\(|contentHash\(|(?:expect\??|head)\.hash|GENESIS\.hash|found\.hash === hash/,
  /actionHash\(|hashAction\(|(?:context|intent)_sha256 === hash|sha256Hex\(name\) === hash/,
  /!== LOG_SIGNATURE|=== COSIGNATURE|=== BY_TOKEN/,
  /device\.endpoint_hash === endpoint_hash/,
  /random\.length !== RAW_KEY_BYTES/,
  /totp_pending\?\.sealed_seed !== pending\.sealed_seed/,
]

describe('T53: secrets are compared in constant time', () => {
  it('nothing named like a secret is compared with === in src', async () => {
    const name =
      '\\w*(?:hash|token|secret|signature|pepper|digest|raw_key|password|seed|cookie)\\w*(?:\\(.*?\\))?'
    const compared = new RegExp(`\\b${name}\\s*[!=]==|[!=]==\\s*(?:[\\w?]+\\.)*${name}(?!\\.length)`, 'i')
    const suspicious: string[] = []
    for (const { file, line } of await linesOfSource()) {
      const code = line.replace(/[!=]==\s*(?:undefined|null|'[^']*')/g, '').replace(/typeof \w+/g, '')
      if (compared.test(code) && !HARMLESS.some((known) => known.test(code)))
        suspicious.push(`${file}: ${line.trim()}`)
    }
    expect(suspicious).toEqual([])
  })

  it('whoever authenticates a caller uses timingSafeEqual on equal lengths', async () => {
    const digest = await readFile(packagePath('src/signing/digest.ts'), 'utf8')
    expect(digest).toMatch(
      /left\.length === right\.length && left\.length > 0 && timingSafeEqual\(left, right\)/,
    )
    const caller = await readFile(packagePath('src/flow/keys/authenticate-caller.ts'), 'utf8')
    expect(caller).toContain("import { equalHex } from '../../signing/digest.ts'")
    expect(caller.match(/equalHex\(/g)).toHaveLength(2)
  })
})

/** The first text that it takes too long for, if there is one. */
function whySlow(regex: RegExp): string | undefined {
  for (const { text, long } of TEXTS) {
    const first = timed(regex, long)
    if (first < 5) continue
    const what = `${JSON.stringify(text(20))}… of ${SIZE} characters`
    if (first > 500) return `takes ${first.toFixed()} ms for ${what}`
    // What is slow is slow on any machine: four times the text takes four times as long if it is linear, sixteen times if not.
    const fastest = (of: string) => Math.min(...Array.from({ length: 5 }, () => timed(regex, of)))
    const [once, fourTimes] = [fastest(long), fastest(text(4 * SIZE))]
    if (once >= 5 && fourTimes > 8 * once)
      return `takes ${once.toFixed(1)} ms for ${what}, ${fourTimes.toFixed(1)} for four times as much`
  }
  return undefined
}

/** Milliseconds of processor time. Both kinds: how a kernel splits a short span between them is a guess. */
function timed(regex: RegExp, text: string): number {
  const before = process.cpuUsage()
  regex.test(text)
  const { user, system } = process.cpuUsage(before)
  return (user + system) / 1000
}
