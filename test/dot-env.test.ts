import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { loadDotEnv } from '../src/config/dot-env.ts'

function newFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'countersign-config-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

describe('.env', () => {
  it.each(['', '\ufeff'])('sets what is not set yet, its first line too, after the mark %j', (mark) => {
    const path = join(newFolder(), '.env')
    const env: NodeJS.ProcessEnv = { HOST: '127.0.0.9', LOG_LEVEL: '' }
    loadDotEnv(env, path)
    writeFileSync(
      path,
      `${mark}PORT=3100\r\n# said before\nHOST=0.0.0.0\nLOG_LEVEL=warn\nBASE_URL="http://a b"\n`,
    )
    loadDotEnv(env, path)
    expect(env).toEqual({ PORT: '3100', HOST: '127.0.0.9', LOG_LEVEL: '', BASE_URL: 'http://a b' })
  })

  it('that is a link to nothing, or in another encoding, is not silently no file', () => {
    const path = join(newFolder(), '.env')
    symlinkSync('gone', path)
    expect(loadDotEnv({}, path)).toMatch(/^\.env: cannot be read \(ENOENT\); make it a file/)
    for (const bytes of [Buffer.from('\ufeffPORT=1', 'utf16le'), Buffer.from('PORT=1', 'utf16le')]) {
      writeFileSync(path, bytes)
      expect(loadDotEnv({}, path)).toBe('.env: is not text in UTF-8; save it in that encoding')
    }
  })

  it.skipIf(process.getuid?.() === 0)('that this user may not read is named', () => {
    const path = join(newFolder(), '.env')
    writeFileSync(path, 'PORT=3100\n', { mode: 0 })
    expect(loadDotEnv({}, path)).toMatch(/^\.env: cannot be read \(EACCES\); make it a file that/)
  })
})
