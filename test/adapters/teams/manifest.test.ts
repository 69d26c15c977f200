import { readFileSync } from 'node:fs'
import { inflateSync } from 'node:zlib'
import { describe, expect, it } from 'vitest'
import { ICON_FILES, type TeamsEdition, teamsManifest } from '../../../adapters/teams/manifest.ts'
import { packagePath } from '../../../src/config/package-path.ts'
import { answerHelp } from '../../../src/flow/chat/answer-command.ts'
import { compiledManifestSchema } from '../../support/teams-manifest-schema.ts'

const HOST = 'https://approvals.example.com'
const APP = '7f3a1c52-94d0-4e0b-8b6e-2d5c0f9a1e34'
const EDITIONS: TeamsEdition[] = ['published', 'preview']

describe('the manifest of the Teams app', () => {
  it.each(EDITIONS)('is valid by Microsoft’s schema: %s', (edition) => {
    const valid = compiledManifestSchema(edition)
    // All that settings can change.
    const longest = Array.from({ length: 4 }, () => 'a'.repeat(60)).join('.')
    const hosts = ['a.example:8443', `${longest}.example:65535`, 'x', 'xn--bcher-kva.example', 'example.com.']
    const bare = ['10.0.0.1', '[2001:db8::1]:8443']
    for (const host of [HOST, ...[...hosts, ...bare].map((name) => `https://${name}`)])
      for (const id of [APP, APP.toUpperCase(), 'ffffffff-ffff-ffff-ffff-ffffffffffff'])
        expect([valid(teamsManifest(host, id, edition)), valid.errors]).toEqual([true, null])
  })

  it('names the bot in all three places where people can write to it, and its own host alone', () => {
    const { id, bots, validDomains, developer } = teamsManifest(`${HOST}:8443`, APP, 'published')
    expect([id, bots[0]?.botId]).toEqual([APP, APP])
    expect(bots[0]?.scopes).toEqual(['personal', 'team', 'groupChat'])
    expect(validDomains).toEqual(['approvals.example.com'])
    for (const address of [developer.websiteUrl, developer.privacyUrl, developer.termsOfUseUrl])
      expect(new URL(address).origin).toBe(`${HOST}:8443`)
  })

  it('asks for nothing of the tenant: no sign-in by Microsoft, no consent to read', () => {
    const manifest = JSON.stringify(EDITIONS.map((edition) => teamsManifest(HOST, APP, edition)))
    expect(manifest).not.toMatch(
      /webApplicationInfo|authorization|resourceSpecific|"composeExtensions"|staticTabs/,
    )
  })

  it('lists only commands that there are, each list for places where they work', () => {
    const help = answerHelp('teams', undefined, 'help')
    const known = help.kind === 'help' ? help.commands.map(({ usage }) => usage.split(' ')[0]) : []
    const lists = teamsManifest(HOST, APP, 'published').bots[0]?.commandLists ?? []
    const titles = lists.map(({ scopes, commands }) => [scopes, commands.map(({ title }) => title)])
    expect(titles).toEqual([
      [['personal'], ['verify', 'pending', 'link', 'unlink', 'browser', 'help']],
      [
        ['team', 'groupChat'],
        ['verify', 'pending', 'link', 'unlink', 'channel', 'help'],
      ],
    ])
    for (const { commands } of lists) for (const { title } of commands) expect(known).toContain(title)
  })

  it('has commands after a slash in the preview alone', () => {
    expect(JSON.stringify(teamsManifest(HOST, APP, 'published'))).not.toMatch(
      /slash|supportsTargetedMessages/,
    )
    const preview = teamsManifest(HOST, APP, 'preview')
    expect(preview.manifestVersion).toBe('devPreview')
    expect(preview.bots[0]).toMatchObject({
      supportsTargetedMessages: true,
      commandLists: [{ triggers: ['mention', 'slash'] }, { triggers: ['mention', 'slash'] }],
    })
  })

  it('says in its addresses which schema it follows', () => {
    const schemas = EDITIONS.map((edition) => teamsManifest(HOST, APP, edition).$schema)
    const at = 'https://developer.microsoft.com/json-schemas/teams'
    expect(schemas).toEqual([
      `${at}/v1.19/MicrosoftTeams.schema.json`,
      `${at}/vDevPreview/MicrosoftTeams.schema.json`,
    ])
  })

  it('is what deploy/teams/manifest.json shows', () => {
    const file = readFileSync(packagePath('deploy/teams/manifest.json'), 'utf8')
    expect(JSON.parse(file)).toEqual(teamsManifest(HOST, '00000000-0000-0000-0000-000000000000', 'published'))
  })

  it('is judged by a schema that sees mistakes', () => {
    const valid = compiledManifestSchema('published')
    const good = teamsManifest(HOST, APP, 'published')
    const { icons: _, ...noIcons } = good
    expect([{ ...good, id: 'no' }, noIcons, { ...good, extra: 1 }].map((each) => valid(each))).toEqual([
      false,
      false,
      false,
    ])
  })
})

describe('the icons of the Teams app', () => {
  it('are in colour 192×192, a symbol of 96×96 on one solid square', () => {
    const { width, height, pixel } = decode(ICON_FILES.color)
    expect([width, height]).toEqual([192, 192])
    const places = [...Array(192).keys()].flatMap((x) => [...Array(192).keys()].map((y) => [x, y] as const))
    const ground = [0x0f, 0x5c, 0x46, 255]
    const marked = places.filter(([x, y]) => pixel(x, y).join() !== ground.join())
    const sides = marked.flat()
    expect([Math.min(...sides), Math.max(...sides)]).toEqual([48, 143])
    expect(new Set(places.map(([x, y]) => pixel(x, y)[3]))).toEqual(new Set([255]))
  })

  it('are in outline 32×32, white and otherwise nothing, out to the edge', () => {
    const { width, height, pixel } = decode(ICON_FILES.outline)
    expect([width, height]).toEqual([32, 32])
    const places = [...Array(32).keys()].flatMap((x) => [...Array(32).keys()].map((y) => [x, y] as const))
    expect(new Set(places.map(([x, y]) => pixel(x, y).slice(0, 3).join()))).toEqual(new Set(['255,255,255']))
    const seen = places.filter(([x, y]) => (pixel(x, y)[3] ?? 0) > 0)
    expect(places.length - seen.length).toBeGreaterThan(400)
    expect([Math.min(...seen.map(([x]) => x)), Math.max(...seen.map(([x]) => x))]).toEqual([0, 31])
  })
})

/** 8-bit RGBA without filters, as `scripts/teams-icons.mjs` writes it. */
function decode(name: string) {
  const png = readFileSync(packagePath(`deploy/teams/${name}`))
  expect([...png.subarray(24, 29)]).toEqual([8, 6, 0, 0, 0])
  const [width, height] = [png.readUInt32BE(16), png.readUInt32BE(20)]
  expect(png.toString('latin1', 37, 41)).toBe('IDAT')
  const rows = inflateSync(png.subarray(41, 41 + png.readUInt32BE(33)))
  expect(rows.length).toBe(height * (width * 4 + 1))
  const pixel = (x: number, y: number) => [...rows.subarray(y * (width * 4 + 1) + 1 + x * 4).subarray(0, 4)]
  return { width, height, pixel }
}
