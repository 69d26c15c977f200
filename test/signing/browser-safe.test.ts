import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'

/** Every module a file reaches, with the packages it imports. */
function reach(entry: URL, seen = new Map<string, string[]>()): Map<string, string[]> {
  if (seen.has(entry.pathname)) return seen
  const source = readFileSync(entry, 'utf8').replace(/\/\*[\s\S]*?\*\//g, '')
  const targets = [...source.matchAll(/^(?:import|export)\b[^'"]*?from '([^']+)'/gm)].map(
    (match) => match[1] ?? '',
  )
  seen.set(
    entry.pathname,
    targets.filter((target) => !target.startsWith('.')),
  )
  for (const target of targets.filter((name) => name.startsWith('.'))) reach(new URL(target, entry), seen)
  return seen
}

describe('the verifier page', () => {
  it.each([
    ['signing/canonical.ts', []],
    ['signing/base64.ts', []],
    ['signing/receipt-input.ts', []],
    ['signing/verify-core.ts', []],
    ['signing/jwks.ts', ['@noble/ed25519']],
    ['signing/verify-web.ts', ['@noble/ed25519']],
    ['signing/verify-bundle.ts', ['@noble/ed25519']],
    ['signing/votes.ts', []],
    ['signing/log/tiles.ts', []],
    ['signing/log/checkpoint.ts', ['@noble/ed25519']],
    ['signing/log/policy.ts', ['@noble/ed25519']],
    ['domain/text.ts', []],
  ])('%s reaches no Node module and no Buffer', (file, packages) => {
    const modules = reach(new URL(`../../src/${file}`, import.meta.url))
    expect([...new Set([...modules.values()].flat())]).toStrictEqual(packages)
    for (const path of modules.keys())
      expect(readFileSync(path, 'utf8'), path).not.toMatch(/\b(?:Buffer|process)\b[.(]/)
  })

  it('the scan itself sees Node modules where they are', () => {
    const modules = reach(new URL('../../src/signing/verify-node.ts', import.meta.url))
    expect([...modules.values()].flat()).toContain('node:crypto')
  })
})
