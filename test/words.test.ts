import { readdirSync, readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { packagePath } from '../src/config/package-path.ts'

/** Folders whose literals people read: in pages, cards, messages and logs. */
const ROOMS = ['src', 'adapters', 'embedded-mongo/src', 'webauthn-page', 'dashboard']

interface Text {
  /** File and line. */
  at: string
  text: string
}

const LITERALS = ROOMS.flatMap((room) =>
  readdirSync(packagePath(room), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts'))
    .flatMap((name) => literalsOf(`${room}/${name}`)),
)

/** String literals of a source file, without their quotes; of several lines, each by itself. Comments are none. */
function literalsOf(path: string): Text[] {
  const source = readFileSync(packagePath(path), 'utf8').replace(/\/\*[\s\S]*?\*\//g, (comment) =>
    comment.replace(/[^\n]/g, ''),
  )
  return source.split('\n').flatMap((line, index) => {
    if (/^\s*(\/\/|import |export .* from )/.test(line)) return []
    const literals = line.matchAll(/'((?:[^'\\]|\\.)*)'|"((?:[^"\\]|\\.)*)"|`((?:[^`\\]|\\.)*)(?:`|$)/g)
    return [...literals].map(([, a, b, c]) => ({ at: `${path}:${index + 1}`, text: a ?? b ?? c ?? '' }))
  })
}

describe('the words of the service', () => {
  it('begin a line of the log with what happened', () => {
    expect(LITERALS.length).toBeGreaterThan(5_000)
    const lines = LITERALS.filter(({ at }) => !/^(src\/(cli|config)|dashboard|webauthn-page)\//.test(at))
    expect(lines.filter(({ text }) => /^(what|whether|that|who|whoever) /.test(text))).toEqual([])
  })
})
