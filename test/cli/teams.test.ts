import { createHash } from 'node:crypto'
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { packagePath } from '../../src/config/package-path.ts'
import { cli, cliProcess, useDataDir } from '../support/cli.ts'
import { readZip } from '../support/read-zip.ts'

const BOT = {
  TEAMS_APP_ID: '00000000-0000-0000-0000-000000000000',
  TEAMS_APP_PASSWORD: 'hunter2-of-the-bot',
  TEAMS_TENANT_ID: '11111111-1111-1111-1111-111111111111',
}
const THERE = { BASE_URL: 'https://approvals.example.com', ...BOT }

const shown = async () => JSON.parse(await readFile(packagePath('deploy/teams/manifest.json'), 'utf8'))

function inside(archive: string, name: string): Buffer {
  return readZip(archive).find((entry) => entry.name === name)?.content ?? expect.unreachable(`no ${name}`)
}

describe('countersign teams package', () => {
  it('writes an archive that opens: the manifest for this BASE_URL, and both icons', async () => {
    const { env, folder } = await useDataDir()
    const run = await cliProcess(['teams', 'package'], {
      env: { ...env, ...THERE, TZ: 'Pacific/Auckland' },
      cwd: folder,
    })
    expect([run.code, run.stderr]).toEqual([0, ''])
    const archive = join(folder, 'countersign-teams.zip')
    expect(run.stdout.split('\n')).toEqual([
      `Wrote ${archive}`,
      `App ${BOT.TEAMS_APP_ID}, version 1.0.0, for approvals.example.com; manifest 1.19, valid by Microsoft’s schema.`,
      expect.stringMatching(/^Upload it in Teams/),
      '',
    ])
    // A date of today, or of this time zone, would make other bytes each time.
    const date = [1980, 1, 1, 12, 0, 0]
    expect(readZip(archive).map(({ name, date }) => ({ name, date }))).toEqual(
      ['manifest.json', 'color.png', 'outline.png'].map((name) => ({ name, date })),
    )
    expect(JSON.parse(inside(archive, 'manifest.json').toString())).toEqual(await shown())
    for (const icon of ['color.png', 'outline.png'])
      expect(inside(archive, icon)).toEqual(await readFile(packagePath(`deploy/teams/${icon}`)))
    // Nothing else is made, no store either, and no secret is told.
    expect(await readdir(folder)).toEqual(['countersign-teams.zip'])
    expect((await readFile(archive)).includes(BOT.TEAMS_APP_PASSWORD)).toBe(false)
  })

  it('tells programs what it wrote, makes the same bytes again, and writes over an older one', async () => {
    const { env, folder } = await useDataDir()
    const out = join(folder, 'app.zip')
    await writeFile(out, 'x'.repeat(20_000))
    const command = ['teams', 'package', '--out', out, '--json']
    const [first, second] = [
      await cli(command, { env: { ...env, ...THERE } }),
      await cli(command, { env: { ...env, ...THERE } }),
    ]
    const sha256 = createHash('sha256')
      .update(await readFile(out))
      .digest('hex')
    expect(first.json()).toEqual({ file: out, sha256, manifest: await shown() })
    expect(second.json()).toEqual(first.json())
  })

  it('writes the developer preview when asked, and says what that is for', async () => {
    const { env, folder } = await useDataDir()
    const run = await cliProcess(['teams', 'package', '--preview'], {
      env: { ...env, ...THERE },
      cwd: folder,
    })
    expect([run.code, run.stderr]).toEqual([0, ''])
    expect(run.stdout).toContain('manifest devPreview, valid by Microsoft’s schema')
    expect(run.stdout).toContain('The developer preview is only for testing')
    const manifest = JSON.parse(inside(join(folder, 'countersign-teams.zip'), 'manifest.json').toString())
    expect(manifest.bots[0].commandLists[0].triggers).toEqual(['mention', 'slash'])
  })

  it.each([
    ['nothing is set', {}],
    ['only test clients are let in', { ...BOT, TEAMS_ALLOW_UNAUTHENTICATED: '1' }],
  ])('refuses when %s: the package names the bot', async (_what, settings) => {
    const { env, folder } = await useDataDir()
    const there = { ...env, BASE_URL: THERE.BASE_URL, ...settings }
    const run = await cliProcess(['teams', 'package', '--json'], { env: there, cwd: folder })
    expect([run.code, run.stdout]).toEqual([2, ''])
    expect(run.error()).toEqual({
      error: 'usage',
      message:
        'The package names the bot. Register it (docs/teams.md), and set TEAMS_APP_ID, TEAMS_APP_PASSWORD and TEAMS_TENANT_ID.',
    })
    expect(await readdir(folder)).toEqual([])
  })

  it.each([
    [
      {},
      'Teams sends only to https: addresses, and BASE_URL is http://localhost:3000. Set BASE_URL to the public https: address.',
    ],
  ])('refuses an address that Teams does not send to: %o', async (more, message) => {
    const { env, folder } = await useDataDir()
    const run = await cliProcess(['teams', 'package', '--json'], {
      env: { ...env, ...BOT, ...more },
      cwd: folder,
    })
    expect([run.code, run.stdout]).toEqual([2, ''])
    expect(run.error()).toEqual({ error: 'usage', message })
  })

  it('says so where it cannot write', async () => {
    const { env, folder } = await useDataDir()
    await mkdir(join(folder, 'taken.zip'))
    for (const out of ['taken.zip', 'no/such/folder/a.zip']) {
      const run = await cliProcess(['teams', 'package', '--json', '--out', out], {
        env: { ...env, ...THERE },
        cwd: folder,
      })
      expect([run.code, run.stdout]).toEqual([1, ''])
      expect(run.error()).toEqual({
        error: 'not_written',
        message: expect.stringMatching(/^The package cannot be written: E\w+: .*\. Name another --out\.$/),
      })
    }
  })
})
