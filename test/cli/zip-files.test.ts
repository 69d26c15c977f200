import { execFileSync, spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { describe, expect, it, onTestFinished } from 'vitest'
import { type ZipEntry, zipFiles } from '../../src/cli/zip-files.ts'
import { readZip } from '../support/read-zip.ts'

function saved(archive: Uint8Array): string {
  const folder = mkdtempSync(join(tmpdir(), 'countersign-zip-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const file = join(folder, 'a.zip')
  writeFileSync(file, archive)
  return file
}

const read = (archive: Uint8Array) => readZip(saved(archive))

const bytes = ({ content }: { content: Uint8Array }) => Buffer.from(content)

const text = (name: string, content: string): ZipEntry => ({ name, content: Buffer.from(content) })
const noise = {
  name: 'noise.bin',
  content: Uint8Array.from({ length: 4_000 }, (_, at) => (at * at * 7 + 13 * at) % 251),
}

describe('a ZIP archive', () => {
  it('holds files as they are: deflated where that is shorter, stored where it is not', () => {
    const entries = [
      text('manifest.json', '{"a":1}'.repeat(500)),
      text('deep/er/x.txt', 'x'),
      text('empty', ''),
    ]
    const found = read(zipFiles(entries))
    expect(found.map(({ name, method }) => [name, method])).toEqual([
      ['manifest.json', 8],
      ['deep/er/x.txt', 0],
      ['empty', 0],
    ])
    expect(found.map(bytes)).toEqual(entries.map(bytes))
    expect(found.map(({ date }) => date)).toEqual(entries.map(() => [1980, 1, 1, 0, 0, 0]))
  })

  it.skipIf(spawnSync('unzip', ['-v']).status !== 0)('opens in unzip, which checks every file', () => {
    const file = saved(zipFiles([text('manifest.json', 'a'.repeat(9_999)), noise]))
    const said = execFileSync('unzip', ['-t', file], { encoding: 'utf8' })
    expect(said).toContain('No errors detected')
    expect(execFileSync('unzip', ['-p', file, 'noise.bin'])).toEqual(Buffer.from(noise.content))
  })

  it('is the same bytes for the same files', () => {
    const entries = [text('a.txt', 'hello '.repeat(50)), noise]
    expect(zipFiles(entries).equals(zipFiles(entries))).toBe(true)
    expect(zipFiles([]).length).toBe(22)
  })

  it('takes only names that every system can write', () => {
    for (const name of ['', '/etc/passwd', 'a//b', 'a/', 'ä.txt', 'a\\b', 'a b']) {
      expect(() => zipFiles([text(name, 'x')]), name).toThrow(`cannot be a name in an archive: ${name}`)
    }
  })

  it('gives any files back', () => {
    const files = fc.uniqueArray(
      fc.record({
        name: fc.stringMatching(/^[a-z]{1,8}(\/[a-z]{1,8}){0,2}$/),
        content: fc.uint8Array({ maxLength: 300 }),
      }),
      { selector: ({ name }) => name, maxLength: 6 },
    )
    fc.assert(
      fc.property(files, (entries) => {
        const found = read(zipFiles(entries))
        expect(found.map(({ name, content }) => ({ name, content }))).toEqual(
          entries.map(({ name, content }) => ({ name, content: Buffer.from(content) })),
        )
      }),
      { numRuns: 15 },
    )
  })
})
