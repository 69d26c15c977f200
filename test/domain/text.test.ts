import { readFileSync } from 'node:fs'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { hasHidden, visibleString, visibleText } from '../../src/domain/text.ts'
import { checkCallerText, codePointLength } from '../../src/domain/text-check.ts'
import { directions, mixedDirection } from '../../src/domain/text-direction.ts'
import { mixedScriptWarning } from '../../src/domain/text-scripts.ts'

interface SpoofCase {
  name: string
  text: string
  class: string
  policy: string
}
const file: { cases: SpoofCase[] } = JSON.parse(
  readFileSync(new URL('../vectors/unicode-spoof/action_text_cases.json', import.meta.url), 'utf8'),
)
const byPolicy = (start: string) => file.cases.filter((one) => one.policy.startsWith(start))

const text = (value: string) => ({ kind: 'text', text: value })
const hidden = (codePoint: string) => ({ kind: 'hidden', label: `[${codePoint}]`, codePoint, count: 1 })

describe('T43: the published spoof cases, each by its policy', () => {
  it('knows every policy in the file', () => {
    const known = [
      'reject',
      'show-code-point',
      'collapse',
      'warn badge',
      'literal',
      'escaped',
      'Slack plain_text',
    ]
    expect(file.cases.length).toBeGreaterThanOrEqual(17)
    for (const { policy } of file.cases)
      expect(
        known.some((start) => policy.startsWith(start)),
        policy,
      ).toBe(true)
  })

  it.each(byPolicy('reject'))('T43: $name is refused', (one) => {
    const result = checkCallerText(one.text)
    expect(result).toMatchObject({ ok: false, codePoint: expect.stringMatching(/^U\+[0-9A-F]{4,6}$/) })
  })

  it.each(byPolicy('show-code-point'))('T43: $name is stored and shown by name', (one) => {
    expect(checkCallerText(one.text)).toStrictEqual({ ok: true })
    expect(hasHidden(one.text)).toBe(true)
    const shown = visibleString(one.text)
    const names = [...one.text].filter((c) => /[\p{Cf}\u2800\u3164\u00a0\p{M}]|(?! )\p{Zs}/u.test(c))
    expect(names.length).toBeGreaterThan(0)
    for (const name of names) {
      expect(shown).not.toContain(name)
      expect(shown).toContain(`[U+${name.codePointAt(0)?.toString(16).toUpperCase().padStart(4, '0')}]`)
    }
  })

  it.each(byPolicy('collapse'))('T43: $name keep their number in sight', (one) => {
    const count = one.text.split('\n').length - 1
    expect(visibleText(one.text)).toContainEqual({ kind: 'newlines', count, label: `[${count} line breaks]` })
    expect(visibleString(one.text)).toBe(one.text.replace(/\n+/, `[${count} line breaks]`))
  })

  it.each(byPolicy('warn badge'))('T43: $name draws a warning and stays as written', (one) => {
    expect(mixedScriptWarning(one.text)).toMatch(/“.+” (?:mixes|looks like)/)
    expect(visibleText(one.text)).toStrictEqual([text(one.text)])
  })

  const plain = [...byPolicy('literal'), ...byPolicy('escaped'), ...byPolicy('Slack plain_text')]
  it.each(plain)('T43: $name stays literal text: markup is the renderer’s concern', (one) => {
    expect(checkCallerText(one.text)).toStrictEqual({ ok: true })
    expect(visibleText(one.text)).toStrictEqual([text(one.text)])
    expect(mixedScriptWarning(one.text)).toBeUndefined()
  })
})

describe('checkCallerText', () => {
  it.each([
    ['a\ud800b', 'is half of a surrogate pair', 'U+D800'],
    ['\udc00', 'is half of a surrogate pair', 'U+DC00'],
    ['a\0', 'is a control character (only line feed and tab are allowed)', 'U+0000'],
    ['a\r\nb', 'is a control character (only line feed and tab are allowed)', 'U+000D'],
    ['\u001b[31mred', 'is a control character (only line feed and tab are allowed)', 'U+001B'],
    ['a\u007f', 'is a control character (only line feed and tab are allowed)', 'U+007F'],
    ['a\u0085b', 'is a control character (only line feed and tab are allowed)', 'U+0085'],
    ['a\v\f', 'is a control character (only line feed and tab are allowed)', 'U+000B'],
    ['\ufdd0', 'is a noncharacter', 'U+FDD0'],
    ['\uffff', 'is a noncharacter', 'U+FFFF'],
    ['\u{1fffe}', 'is a noncharacter', 'U+1FFFE'],
    ['\u{10ffff}', 'is a noncharacter', 'U+10FFFF'],
    ['ok\u{e0001}', 'is an invisible tag character', 'U+E0001'],
    ['ok\u{e007f}', 'is an invisible tag character', 'U+E007F'],
  ])('refuses %j', (value, reason, codePoint) => {
    expect(checkCallerText(value)).toStrictEqual({ ok: false, reason, codePoint })
  })

  it.each(['', 'a\n\tb', 'Grüße, 東京, שלום, مرحبا', '👩‍💻 deploys', 'a\u202eb', '\ufffd'])(
    'accepts %j',
    (value) => {
      expect(checkCallerText(value)).toStrictEqual({ ok: true })
    },
  )
})

describe('T43: hidden characters are shown by name', () => {
  it.each([
    ['bidi embedding', '\u202a'],
    ['bidi override', '\u202d'],
    ['pop direction', '\u202c'],
    ['bidi isolate', '\u2066'],
    ['left-to-right mark', '\u200e'],
    ['Arabic letter mark', '\u061c'],
    ['zero-width space', '\u200b'],
    ['word joiner', '\u2060'],
    ['invisible times', '\u2062'],
    ['byte order mark', '\ufeff'],
    ['soft hyphen', '\u00ad'],
    ['combining grapheme joiner', '\u034f'],
    ['Mongolian vowel separator', '\u180e'],
    ['Hangul filler', '\u3164'],
    ['half-width Hangul filler', '\uffa0'],
    ['Hangul choseong filler', '\u115f'],
    ['Khmer inherent vowel', '\u17b4'],
    ['Braille blank', '\u2800'],
    ['no-break space', '\u00a0'],
    ['em space', '\u2003'],
    ['narrow no-break space', '\u202f'],
    ['ideographic space', '\u3000'],
    ['Ogham space', '\u1680'],
    ['line separator', '\u2028'],
    ['paragraph separator', '\u2029'],
    ['interlinear annotation', '\ufff9'],
    ['object replacement', '\ufffc'],
    ['musical null notehead', '\u{1d159}'],
    ['shorthand format', '\u{1bca0}'],
    ['supplementary variation selector', '\u{e0100}'],
    ['private use', '\ue000'],
    ['unassigned', '\u{3fffd}'],
    ['a refused NUL', '\0'],
    ['a refused lone surrogate', '\ud800'],
    ['a refused tag', '\u{e0041}'],
  ])('%s', (_name, character) => {
    const name = `U+${character.codePointAt(0)?.toString(16).toUpperCase().padStart(4, '0')}`
    expect(visibleText(`a${character}b`)).toStrictEqual([text('a'), hidden(name), text('b')])
    expect(hasHidden(`a${character}b`)).toBe(true)
  })

  it('one label stands for a run of one character, with its number', () => {
    expect(visibleString(`milk${'\u2800'.repeat(70)}drop`)).toBe('milk[U+2800][×70]drop')
    expect(visibleString('a\u200b\u200c\u200bb')).toBe('a[U+200B][U+200C][U+200B]b')
  })

  it('long rows of blanks are counted, since they push text out of sight', () => {
    expect(visibleText(`a${' '.repeat(16)}b`)).toStrictEqual([text(`a${' '.repeat(16)}b`)])
    expect(visibleString(`a${' '.repeat(17)}b`)).toBe('a[17 spaces]b')
    expect(visibleString(`a${' \t'.repeat(20)}b`)).toBe('a[40 spaces and tabs]b')
    expect(hasHidden(`a${' '.repeat(17)}b`)).toBe(true)
  })
})

describe('what honest writing needs stays as written', () => {
  it.each([
    ['a family', '👨‍👩‍👧‍👦'],
    ['a profession with skin tone', '👩🏽‍💻'],
    ['a rainbow flag', '🏳️‍🌈'],
    ['a heart in emoji style', '❤️ and ❤︎'],
    ['a keycap', '1️⃣ #️⃣ 2⃣'],
    ['a flag', '🇨🇭'],
    ['Persian with ZWNJ', 'می‌خواهم'],
    ['Hindi with ZWJ', 'क्‍ष'],
    ['Sinhala with ZWJ', 'ශ්‍රී'],
    ['Bengali with ZWJ', 'র‍্যাব'],
    ['Arabic with vowel marks', 'مُحَمَّد'],
    ['an Arabic number sign', 'سنة \u0600١٢٣'],
    ['Hebrew with points', 'שָׁלוֹם'],
    ['Vietnamese decomposed', 'Tiếng Việt'.normalize('NFD')],
    ['Thai', 'ที่นี่'],
    ['Tibetan', 'བསྒྲུབས'],
    ['a decomposed ≠', 'a =\u0338 b'],
    ['two line breaks and a tab', 'a\n\n\tb'],
    ['Japanese', '東京で承認する。'],
  ])('%s', (_name, value) => {
    expect(visibleText(value)).toStrictEqual([text(value)])
    expect(hasHidden(value)).toBe(false)
  })
})

describe('the same characters without such a use are shown', () => {
  it.each([
    ['ZWJ between Latin letters', 'a\u200db', 'a[U+200D]b'],
    ['ZWNJ between Cyrillic letters', 'а\u200cб', 'а[U+200C]б'],
    ['ZWJ after an emoji', '👨\u200d', '👨[U+200D]'],
    ['ZWJ between emoji and letter', '👨\u200da', '👨[U+200D]a'],
    ['two ZWNJ between Arabic letters', 'م\u200c\u200cم', 'م[U+200C][×2]م'],
    ['ZWNJ at the end of an Arabic word', 'م\u200c ', 'م[U+200C] '],
    ['a variation selector after a letter', 'a\ufe0f', 'a[U+FE0F]'],
    ['a variation selector after a digit', '1\ufe0f0', '1[U+FE0F]0'],
    ['a second variation selector', '❤\ufe0f\ufe0f', '❤\ufe0f[U+FE0F]'],
    ['data in variation selectors', '😀\ufe00\ufe01', '😀[U+FE00][U+FE01]'],
    ['a mark at the start', '\u0301a', '[U+0301]a'],
    ['a mark on a space', 'a \u0301', 'a [U+0301]'],
    ['a mark on our own label', 'a\u202e\u0301', 'a[U+202E][U+0301]'],
    ['Zalgo', `a${'\u0301\u0316\u0325\u0330\u0331'}b`, 'a[U+0301][U+0316][U+0325][U+0330][U+0331]b'],
    ['a mark on a shown strike', 'a\u0336\u0301b', 'a[U+0336][U+0301]b'],
    ['a joiner behind a shown selector', 'a\ufe0f\u200d👨', 'a[U+FE0F][U+200D]👨'],
    ['struck-out letters', 'n\u0336o\u0336', 'n[U+0336]o[U+0336]'],
    ['a letter in a prohibition sign', 'a\u20e0', 'a[U+20E0]'],
    ['a keycap on a letter', 'a\u20e3', 'a[U+20E3]'],
  ])('%s', (_name, value, shown) => {
    expect(visibleString(value)).toBe(shown)
    expect(hasHidden(value)).toBe(true)
  })
})

describe('line breaks', () => {
  it('more than two collapse into one label; lines of blanks count as empty', () => {
    expect(visibleString('a\n\nb\n\n\nc')).toBe('a\n\nb[3 line breaks]c')
    expect(visibleText('a\n \n\t\n  b')).toStrictEqual([
      text('a'),
      { kind: 'newlines', count: 3, label: '[3 line breaks]' },
      text('  b'),
    ])
    expect(hasHidden('a\n\n\n\nb')).toBe(false)
  })

  it('hidden characters between line breaks do not hide the gap', () => {
    expect(visibleString('a\n\u200b\n\u200b\nb')).toBe('a\n[U+200B]\n[U+200B]\nb')
  })
})

describe('visibleText on any text', () => {
  const strange = fc.string({
    unit: fc.oneof(
      fc.constantFrom(...'\u202e\u200d\u200c\u2800\ufe0f\u0301\u20e3 \n\t👨1मa', '\ud800'),
      fc.string({ unit: 'binary', minLength: 1, maxLength: 1 }),
    ),
    maxLength: 60,
  })

  it('leaves nothing out: labels and texts account for every character', () => {
    fc.assert(
      fc.property(strange, (value) => {
        const segments = visibleText(value)
        const counted = segments.map((one) => (one.kind === 'text' ? codePointLength(one.text) : one.count))
        const blanksInGaps = codePointLength(value) - counted.reduce((sum, count) => sum + count, 0)
        expect(blanksInGaps).toBeGreaterThanOrEqual(0)
        if (!segments.some((one) => one.kind === 'newlines')) expect(blanksInGaps).toBe(0)
        const kept = segments.flatMap((one) => (one.kind === 'text' ? [one.text] : []))
        let from = 0
        for (const piece of kept) {
          const found = value.indexOf(piece, from)
          expect(found).toBeGreaterThanOrEqual(from)
          from = found + piece.length
        }
      }),
      { numRuns: 2000 },
    )
  })

  it('shows nothing that is never visible, and what it shows is well-formed', () => {
    fc.assert(
      fc.property(strange, (value) => {
        const shown = visibleString(value)
        expect(shown).not.toMatch(/[\u202a-\u202e\u2066-\u2069\u200b\u2060\u2800\ufeff]|\p{Surrogate}/u)
        expect(shown).not.toMatch(/\n[ \t]*\n[ \t]*\n/)
      }),
      { numRuns: 2000 },
    )
  })

  it('takes linear time on 64 kB of the worst characters', () => {
    const worst = ['\u0301', '\u200d', 'а', ' \n', '\n', ' ', 'a\ufe0f', '\u{1f468}\u200d']
    for (const unit of worst) {
      const value = unit.repeat(Math.floor(65536 / unit.length))
      const start = process.cpuUsage()
      visibleString(value)
      checkCallerText(value)
      mixedScriptWarning(value)
      const { user } = process.cpuUsage(start)
      expect(user / 1000, JSON.stringify(unit)).toBeLessThan(1500)
    }
  })
})

describe('codePointLength', () => {
  it.each([
    ['', 0],
    ['abc', 3],
    ['😀', 1],
    ['👨‍👩‍👧‍👦', 7],
    ['e\u0301', 2],
    ['\ud800a', 2],
  ])('%j has %i', (value, length) => expect(codePointLength(value)).toBe(length))
})

describe('mixedScriptWarning', () => {
  it.each([
    ['Cyrillic in a Latin word', 'Pay рауpal.com', /^“рауpal” mixes Latin and Cyrillic letters/],
    ['Greek in a Latin word', 'gοοgle', /mixes Latin and Greek/],
    ['Armenian in a Latin word', 'gօogle', /mixes Latin and Armenian/],
    ['Cherokee in a Latin word', 'ᏢayPal', /mixes Latin and Cherokee/],
    ['full-width letters in a Latin word', 'pａypal', /mixes Latin and full-width/],
    ['mathematical letters in a Latin word', 'p𝐚ypal', /mixes Latin and mathematical/],
    ['a word split by a zero-width space', 'ра\u200bypal', /“раypal” mixes/],
    [
      'a word wholly of doubles',
      'Send to раураӏ now',
      /^“раураӏ” looks like Latin letters but is written in Cyrillic/,
    ],
    ['a host wholly of doubles in Russian text', 'Оплатить счёт на аррӏе.com', /“аррӏе” looks like Latin/],
    [
      'a word in mathematical letters',
      'Approve 𝐚𝐝𝐦𝐢𝐧',
      /“𝐚𝐝𝐦𝐢𝐧” looks like Latin letters but is written in mathematical/,
    ],
    [
      'a word in full-width letters',
      'Approve ａｄｍｉｎ',
      /“ａｄｍｉｎ” looks like Latin letters but is written in full-width/,
    ],
    ['Greek capitals', 'Call ΑΒΕ at once', /“ΑΒΕ” looks like Latin/],
  ])('%s is named', (_name, value, message) => {
    expect(mixedScriptWarning(value)).toMatch(message)
  })

  it.each([
    'Deploy version 2 to production',
    'Перезапустить сервер api-gateway в 10:00',
    'Открыть файл.txt и hor.txt про сор',
    'Tシャツ を注文 ABC社 ＡＰＩ',
    'الAPI الجديد',
    '10 kΩ, 5 μm, 3 µs',
    'Ελληνικά και English',
    'naïve café Ångström',
    '',
  ])('honest text draws none: %s', (value) => {
    expect(mixedScriptWarning(value)).toBeUndefined()
  })

  it('quotes at most 40 characters and no marks', () => {
    const warning = mixedScriptWarning(`a\u0336${'а'.repeat(500)}`) ?? ''
    expect(codePointLength(warning)).toBeLessThan(110)
    expect(warning).not.toMatch(/\p{M}/u)
  })
})

describe('T16, T43: text of two directions', () => {
  it.each([
    ['Move 50,000 EUR \u05c3 4711 → 0815 today', 'Move 50,000 EUR [U+05C3] 4711 → 0815 today'],
    ['about \u05c0 9 000 100 EUR', 'about [U+05C0] 9 000 100 EUR'],
    ['a\u061bb', 'a[U+061B]b'],
    ['pay\u{13441}\u{13442}\u303fnow', 'pay[U+13441][U+13442][U+303F]now'],
  ])('a sign or a blank that no letter of its writing stands beside is shown by name: %j', (said, shown) => {
    expect(visibleString(said)).toBe(shown)
  })

  it.each(['בית־ספר', 'سلام، دنیا؛ خوش', 'ר׳ עקיבא', 'ا\u064e'])('%s holds nothing hidden', (said) => {
    expect(hasHidden(said)).toBe(false)
  })

  it.each([
    ['Pay 4711 → 0815', undefined],
    ['שלום עולם, מה שלומך', undefined],
    ['Move EUR \u05d0 4711 → 0815', 'left'],
    ['\u05d0 4711 → 0815', 'left'],
    ['העבר 50 שקל לחשבון', 'right'],
    ['٤٧١١ → ٠٨١٥', 'right'],
  ])('%j: mixed %s', (said, ways) => {
    expect(mixedDirection(said)).toBe(ways)
  })

  it('is parted so that no part holds two, words of a phrase together, groups of digits apart', () => {
    const parts = directions('Ask דנה כהן: ٤٧ ١١ → 7')
    expect(parts.map(({ text, turned }) => [text, turned])).toEqual([
      ['Ask ', false],
      ['דנה כהן', true],
      [': ', false],
      ['٤٧', true],
      [' ', false],
      ['١١', true],
      [' → 7', false],
    ])
  })
})
