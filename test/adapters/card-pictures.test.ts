import { readdirSync, readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { packagePath } from '../../src/config/package-path.ts'
import { drawnNow, slackPictures, teamsPictures } from '../support/card-pictures.ts'

const folder = packagePath('docs/cards')
const slack = slackPictures()
const pictures = [...slack, ...teamsPictures()]

describe('the pictures in the documentation', () => {
  it('show the cards as they are drawn now; else run: node scripts/card-pictures.mjs', () => {
    expect(JSON.parse(readFileSync(`${folder}/drawn.json`, 'utf8'))).toEqual(drawnNow())
  })

  it('are there, each a PNG, and small together', () => {
    const files = readdirSync(folder).filter((file) => file.endsWith('.png'))
    expect(files.sort()).toEqual(pictures.map(({ file }) => file).sort())
    const contents = files.map((file) => readFileSync(`${folder}/${file}`))
    for (const content of contents) expect(content.subarray(1, 4).toString('latin1')).toBe('PNG')
    expect(contents.reduce((sum, { length }) => sum + length, 0)).toBeLessThan(800_000)
  })

  it.each([
    ['docs/slack-cards.md', slack],
    ['docs/teams-cards.md', teamsPictures()],
  ])('are all named in %s', (path, shown) => {
    const page = readFileSync(packagePath(path), 'utf8')
    expect(shown.filter(({ file }) => !page.includes(`cards/${file}`))).toEqual([])
  })
})

describe('an independent renderer of Slack’s blocks', () => {
  it.each(slack)('draws $file with everything on it', ({ file, html }) => {
    const batch = file.startsWith('batch')
    expect(html.includes('High impact')).toBe(!batch)
    expect(html).toContain(batch ? 'Pay Globex, invoice 88' : 'Delete 18 204 invoices older than ten years')
    const open = /pending|partly/.test(file)
    expect(html.match(/<button/g)?.length ?? 0).toBe(open ? 3 : 0)
    expect(html.includes(`aria-label="Approve: opens the ${batch ? 'inbox' : 'approval page'}"`)).toBe(open)
    const page = batch ? '?batch=bat_' : 'a/req_'
    expect(html.includes(`href="https://approve.example.com/${page}7k2m9q4r8s1t6w5x0yzabcdefg"`)).toBe(!open)
    // What it does not know it leaves out or names: every part of ours has to come out drawn.
    expect(html).not.toMatch(/unsupported|unknown|undefined|\[object/i)
  })
})
