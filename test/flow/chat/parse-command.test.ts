import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { readPaste } from '../../../src/domain/read-paste.ts'
import { parseCommand } from '../../../src/flow/chat/parse-command.ts'

const REQ = 'req_7h3k9m2p5q8r1s4t6v0w2x5y8z'
const DEC = 'dec_7h3k9m2p5q8r1s4t6v0w2x5y8z'
const request = { verb: 'verify', asked: { kind: 'request', id: REQ }, share: false }

describe('verify', () => {
  it.each([
    `verify ${REQ}`,
    `/verify ${REQ}`,
    `  VERIFY\t\n ${REQ} `,
    `/countersign verify ${REQ}`,
    `verify \`${REQ}\``,
    `verify\`${REQ}\``,
    `verify \`\`\`\n${REQ}\n\`\`\``,
    `verify <${REQ}>`,
    `verify "${REQ}"`,
    `verify “${REQ}”`,
    `verify ‘${REQ}’.`,
    `verify <\`${REQ}\`>`,
    `verify ${REQ}.`,
    `verify ${REQ.toUpperCase()}`,
    `verify Req_${REQ.slice(4)}`,
    `verify \u200b${REQ}\ufeff`,
    `verify\u00a0${REQ}`,
  ])('reads the id in %j', (text) => {
    expect(parseCommand(text)).toEqual(text.startsWith('/v') ? { ...request, slash: true } : request)
  })

  it('reads the id of a receipt', () => {
    const asked = { kind: 'decision', id: DEC }
    expect(parseCommand(`verify ${DEC}`)).toEqual({ verb: 'verify', asked, share: false })
  })

  it.each([
    `verify ${REQ} share`,
    `verify ${REQ}\nShare `,
    `/verify \`${REQ}\` SHARE`,
    `verify <${REQ}>share`,
  ])('shares on the last word of %j', (text) => {
    const shared = { ...request, share: true }
    expect(parseCommand(text)).toEqual(text.startsWith('/v') ? { ...shared, slash: true } : shared)
  })

  it.each(['{"a":1}', '```{"a":1}```', '```json\n{"a":1}\n```', '`{"a":1}`', '<{"a":1}>'])(
    'reads the receipt in %j, shared or not',
    (text) => {
      const asked = { kind: 'receipt', text: '{"a":1}' }
      expect(parseCommand(`verify ${text}`)).toEqual({ verb: 'verify', asked, share: false })
      expect(parseCommand(`verify ${text} share`)).toEqual({ verb: 'verify', asked, share: true })
    },
  )

  it.each(['verify', '/verify ', 'verify share', 'verify `` ', 'verify "" share'])(
    'notices in %j that nothing is asked about',
    (text) => {
      expect(parseCommand(text)).toMatchObject({ verb: 'verify', asked: { kind: 'nothing' } })
    },
  )

  it.each(['verify me', `verify ${REQ} ${DEC}`, 'verify [1]', `verify usr_${REQ.slice(4)}`, 'verify reqs'])(
    'takes %j for no id and no receipt',
    (text) => {
      expect(parseCommand(text)).toMatchObject({ verb: 'verify', asked: { kind: 'other' } })
    },
  )

  it.each([
    `https://a.example/a/${REQ}?d=approve`,
    `<https://a.example/a/${REQ}>`,
    `https://a.example/a/${REQ}#x`,
  ])('reads the address of a page, %j, as its id, and no other site’s', (text) => {
    expect(parseCommand(`verify ${text}`, 'https://a.example')).toEqual(request)
    for (const origin of ['https://a.example.evil', '', 'https://b.example'])
      expect(parseCommand(`verify ${text}`, origin)).toMatchObject({ asked: { kind: 'other' } })
  })

  it('tells the short command from the general one', () => {
    expect(parseCommand(`/verify ${REQ}`)).toEqual({ ...request, slash: true })
    expect(parseCommand(`/countersign verify ${REQ}`)).toEqual(request)
    for (const text of ['verify help', '/verify HELP ']) expect(parseCommand(text)).toEqual({ verb: 'help' })
  })

  it('passes on an id that was cut: the verdict says that it is unknown', () => {
    expect(parseCommand('verify req_7h3k')).toMatchObject({ asked: { kind: 'request', id: 'req_7h3k' } })
  })
})

it.each([
  ['', 'help'],
  [' / ', 'help'],
  ['/countersign', 'help'],
  ['HELP me', 'help', true],
  ['Pending', 'pending'],
  ['/link', 'link'],
  ['link <@U0BEN|ben>', 'link', true],
  ['link …!', 'link'],
  ['unlink', 'unlink'],
  ['browser\n', 'browser'],
  ['channel #deploys', 'channel', true],
  ['approve', 'unknown'],
  [REQ, 'unknown'],
  ['verifyx', 'unknown'],
  ['links', 'unknown'],
  ['!', 'unknown'],
  ['constructor', 'unknown'],
] as const)('reads %j as %s', (text, verb, more?: true) => {
  expect(parseCommand(text)).toEqual({ verb, ...(more && { more }) })
})

const blank = fc.stringMatching(/^[ \t\n\u00a0\u200b]{0,5}$/)
const someBlank = fc.stringMatching(/^[ \t\n\u00a0]{1,5}$/)
const id = fc.stringMatching(/^(?:req|dec)_[0-9a-hjkmnp-tv-z]{26}$/)
const wrap = fc.constantFrom('@', '`@`', '```\n@\n```', '```@```', '<@>', '"@"', '“@”', '@.', '<`@`>', '“@”.')

it('finds the same command whatever the chat client puts around it', () => {
  const property = fc.property(
    id,
    wrap,
    blank,
    someBlank,
    fc.boolean(),
    fc.boolean(),
    (asked, around, edge, gap, slash, share) => {
      const quoted = around.replace('@', () => asked)
      const text = `${edge}${slash ? '/' : ''}verify${gap}${edge}${quoted}${share ? `${gap}share` : ''}${edge}`
      const kind = asked.startsWith('req') ? 'request' : 'decision'
      const command = { verb: 'verify', asked: { kind, id: asked }, share }
      expect(parseCommand(text)).toEqual(slash ? { ...command, slash } : command)
    },
  )
  fc.assert(property, { numRuns: 500 })
})

it('hands on the JSON of any receipt unchanged', () => {
  const fence = fc.constantFrom('@', '```@```', '```json\n@\n```', '```\n@```', '`@`')
  const receipt = fc.dictionary(fc.string(), fc.jsonValue({ maxDepth: 2 }))
  const property = fc.property(receipt, fence, fc.boolean(), (value, around, share) => {
    const json = JSON.stringify(value)
    const said = parseCommand(`verify ${around.replace('@', () => json)}${share ? ' share' : ''}`)
    expect(said).toEqual({ verb: 'verify', asked: { kind: 'receipt', text: json }, share })
    expect(readPaste(json)).toEqual(JSON.parse(json))
  })
  fc.assert(property, { numRuns: 500 })
})

it('reads anything at all, and an id only where one stands', () => {
  const property = fc.property(fc.string({ unit: 'binary', maxLength: 200 }), (text) => {
    const plain = parseCommand(text)
    const command = parseCommand(`verify ${text}`)
    expect(plain).toHaveProperty('verb')
    if (command.verb !== 'verify' || !('id' in command.asked)) return
    expect(text.toLowerCase()).toContain(command.asked.id)
  })
  fc.assert(property, { numRuns: 1_000 })
})

it('takes no longer for texts made to keep patterns busy', () => {
  const began = process.cpuUsage()
  for (const part of ['`', ' ', '\u200b', '<', 'verify ', '"', ' share', '/', '{'])
    for (const end of ['', 'x', '}']) parseCommand(`verify ${part.repeat(100_000)}${end}`)
  // Computing time: what else the machine does is not in it.
  expect(process.cpuUsage(began).user / 1_000).toBeLessThan(2_000)
})

describe('a pasted receipt', () => {
  it('is read in spite of what writing aids did to its quotation marks and blanks', () => {
    expect(readPaste('{“a”:\u00a0„b“}')).toEqual({ a: 'b' })
  })

  it('keeps such marks inside its texts when it was not touched', () => {
    expect(readPaste('{"a":"say “hi”\u00a0now"}')).toEqual({ a: 'say “hi”\u00a0now' })
  })

  it.each(['{"a":{"b":1,"\\u0062":2}}', '[{"a":1,"a":1}]', '{"a":"“,","a":1}'])(
    'is refused when readers could find other members in it: %j',
    (text) => {
      expect(readPaste(text)).toBeUndefined()
    },
  )

  it.each(['{', '{"a":1', '"text"', 'null', '{“a: 1}', `{"a":"${'x'.repeat(300_001)}"}`])(
    'is refused when it is no whole object: %.20j',
    (text) => {
      expect(readPaste(text)).toBeUndefined()
    },
  )
})
