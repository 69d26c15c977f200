import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type TeamsEdition, teamsManifest } from '../../adapters/teams/manifest.ts'
import { checkTeamsManifest } from '../../src/cli/check-teams-manifest.ts'
import { size } from '../support/size.ts'
import { compiledManifestSchema } from '../support/teams-manifest-schema.ts'

const EDITIONS: TeamsEdition[] = ['published', 'preview']
const good = (edition: TeamsEdition) =>
  teamsManifest('https://approvals.example.com', '7f3a1c52-94d0-4e0b-8b6e-2d5c0f9a1e34', edition)

/** Which of the manifest's values are changed: each third, or each. */
const EVERY = size(3, 1)

/** Steps from the root to every value inside. */
function pathsOf(value: unknown, path: string[] = []): string[][] {
  if (typeof value !== 'object' || value === null) return [path]
  return [path, ...Object.entries(value).flatMap(([key, inner]) => pathsOf(inner, [...path, key]))]
}

/** A copy in which the value at the path is another one; undefined takes it away. */
function changed(value: unknown, [step, ...rest]: string[], to: (old: unknown) => unknown): unknown {
  if (step === undefined) return to(value)
  if (Array.isArray(value))
    return value.map((item, at) => (String(at) === step ? changed(item, rest, to) : item))
  const inner = Object.entries(Object(value)).map(([key, old]) => [
    key,
    key === step ? changed(old, rest, to) : old,
  ])
  return Object.fromEntries(inner.filter(([, item]) => item !== undefined))
}

/** Mistakes of every kind that the schema knows. */
const MISTAKES: Record<string, (old: unknown) => unknown> = {
  'left out': () => undefined,
  'a number': () => 7,
  null: () => null,
  'an empty text': () => '',
  'a long text': () => 'x'.repeat(5_000),
  'a list': () => [],
  'an object': () => ({}),
  'much of it': (old) => (Array.isArray(old) ? Array.from({ length: 40 }, () => old[0]) : old),
  'more of it': (old) => (typeof old === 'object' && !Array.isArray(old) ? { ...old, surplus: 1 } : old),
}

describe('the check of a Teams manifest', () => {
  it.each(EDITIONS)('finds nothing wrong with ours: %s', (edition) => {
    expect(checkTeamsManifest(good(edition), edition)).toEqual([])
  })

  it('says where a mistake is, and what is wrong', () => {
    const { icons: _, ...bad } = { ...good('published'), id: 'nope', surplus: true, accentColor: 'green' }
    const problems = checkTeamsManifest(bad, 'published')
    expect(problems).toEqual([
      expect.stringMatching(/^id: .*pattern/),
      expect.stringMatching(/^icons: /),
      expect.stringMatching(/^accentColor: .*pattern/),
      expect.stringMatching(/^manifest: .*surplus/),
    ])
  })

  it('does not take one edition for the other', () => {
    expect(checkTeamsManifest(good('preview'), 'published')).not.toEqual([])
    expect(checkTeamsManifest(good('published'), 'preview')).not.toEqual([])
  })

  it.each(EDITIONS)('agrees with a complete validator on every single mistake: %s', (edition) => {
    const valid = compiledManifestSchema(edition)
    const manifest = good(edition)
    const paths = pathsOf(manifest).filter((path, at) => path.length > 0 && at % EVERY === 0)
    const disagreements: string[] = []
    let refused = 0
    for (const path of paths) {
      for (const [what, mistake] of Object.entries(MISTAKES)) {
        // A place in a list cannot be left empty in JSON.
        if (what === 'left out' && /^\d+$/.test(path.at(-1) ?? '')) continue
        const bad = changed(manifest, path, mistake)
        const sound = checkTeamsManifest(bad, edition).length === 0
        if (sound !== valid(bad)) disagreements.push(`${path.join('.')}: ${what}`)
        if (!sound) refused += 1
      }
    }
    expect(disagreements).toEqual([])
    expect(refused).toBeGreaterThan(250 / EVERY)
  })

  it('agrees with it on several mistakes at once', () => {
    const valid = compiledManifestSchema('preview')
    const manifest = good('preview')
    const mistakes = fc.array(
      fc.tuple(
        fc.constantFrom(...pathsOf(manifest).filter(({ length }) => length > 0)),
        fc.constantFrom(...Object.values(MISTAKES)),
      ),
      { minLength: 1, maxLength: 3 },
    )
    fc.assert(
      fc.property(mistakes, (chosen) => {
        const bad = JSON.parse(
          JSON.stringify(chosen.reduce<unknown>((all, [path, to]) => changed(all, path, to), manifest)),
        )
        expect(checkTeamsManifest(bad, 'preview').length === 0).toBe(valid(bad))
      }),
      { numRuns: 100 },
    )
  })
})
