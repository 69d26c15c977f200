import { readFileSync } from 'node:fs'
import { gzipSync } from 'node:zlib'
import { expect, it } from 'vitest'
import { packagePath } from '../../../src/config/package-path.ts'

/** Most bytes, minified and then gzipped. */
it.each([
  ['index.js', 10_100, 4_560],
  ['verify.js', 35_200, 13_200],
  ['bundle.js', 52_300, 19_100],
])('dist/%s imports nothing and has at most %i bytes, %i gzipped', (name, plain, gzipped) => {
  const code = readFileSync(packagePath(`packages/client/dist/${name}`))
  expect(code.toString()).not.toMatch(/\bimport\b|\brequire\(|\bprocess\.|\bBuffer\b/)
  expect(code.length).toBeLessThanOrEqual(plain)
  expect(gzipSync(code, { level: 9 }).length).toBeLessThanOrEqual(gzipped)
})
