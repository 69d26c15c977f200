import { readdirSync, readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { packagePath } from '../src/config/package-path.ts'

interface Text {
  /** File and line. */
  at: string
  text: string
}

/** Literals of the code that people read: in pages, cards, messages, logs, and in the descriptions of the API. */
const LITERALS = ['src', 'adapters', 'embedded-mongo/src', 'webauthn-page', 'dashboard'].flatMap((room) =>
  readdirSync(packagePath(room), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts'))
    .flatMap((name) => literalsOf(`${room}/${name}`)),
)

const PAGES = ['README.md', 'SECURITY.md', 'CONTRIBUTING.md', '.env.example'].concat(
  readdirSync(packagePath('docs'))
    .filter((name) => name.endsWith('.md'))
    .map((name) => `docs/${name}`),
)

/** String literals of a source file; one of several lines counts line by line. Comments and imports are none. */
function literalsOf(path: string): Text[] {
  const source = readFileSync(packagePath(path), 'utf8').replace(/\/\*[\s\S]*?\*\//g, blank)
  return source.split('\n').flatMap((line, index) => {
    if (/^\s*(\/\/|import |export .* from )/.test(line)) return []
    const literals = line.matchAll(/'((?:[^'\\]|\\.)*)'|"((?:[^"\\]|\\.)*)"|`((?:[^`\\]|\\.)*)(?:`|$)/g)
    return [...literals].map(([, a, b, c]) => ({ at: `${path}:${index + 1}`, text: a ?? b ?? c ?? '' }))
  })
}

/** Lines of a document, without code and without the glossary, which names what it refuses. */
function linesOf(path: string): Text[] {
  const text = readFileSync(packagePath(path), 'utf8')
    .replace(/^ *```[\s\S]*?^ *```/gm, blank)
    .replace(/^## One name per thing\n[\s\S]*?(?=^## )/m, blank)
  return text.split('\n').map((line, index) => ({ at: `${path}:${index + 1}`, text: line }))
}

function blank(text: string): string {
  return text.replace(/[^\n]/g, '')
}

describe('the words of the service', () => {
  it('give each thing the one name of the glossary in docs/concepts.md', () => {
    const glossary = readFileSync(packagePath('docs/concepts.md'), 'utf8')
    const [, rows = ''] = /^## One name per thing\n([\s\S]*?)(?=^## )/m.exec(glossary) ?? []
    const refused = [...rows.matchAll(/^\| \*\*.*\| (.*) \|$/gm)].flatMap(([, not = '']) =>
      [...not.matchAll(/“(.+?)”/g)].map(([, name = '']) => name),
    )
    expect(refused.length).toBeGreaterThan(15)
    const pattern = new RegExp(`\\b(?:${refused.join('|')})s?\\b`, 'i')
    // A literal of one small word is an identifier; `field names` in a sentence are the API's.
    const sentences = [...PAGES.flatMap(linesOf), ...LITERALS.filter(({ text }) => /^[A-Z]| /.test(text))]
    const said = sentences.filter(({ text }) => pattern.test(text.replace(/`[^`]*`|\$\{[^}]*\}/g, '``')))
    expect(said).toEqual([])
  })

  it('begin a line of the log with what happened', () => {
    expect(LITERALS.length).toBeGreaterThan(5_000)
    const lines = LITERALS.filter(({ at }) => !/^(src\/(cli|config)|dashboard|webauthn-page)\//.test(at))
    expect(lines.filter(({ text }) => /^(what|whether|that|who|whoever) /.test(text))).toEqual([])
  })
})
