import { readFileSync } from 'node:fs'
import { gzipSync } from 'node:zlib'
import { expect, it } from 'vitest'
import { packagePath } from '../../../src/config/package-path.ts'

/** Most bytes, minified and then gzipped. */
it.each([
  ['index.js', 9_050, 4_180],
  ['verify.js', 34_500, 12_900],
])('dist/%s imports nothing and has at most %i bytes, %i gzipped', (name, plain, gzipped) => {
  const code = readFileSync(packagePath(`packages/client/dist/${name}`))
  expect(code.toString()).not.toMatch(/\bimport\b|\brequire\(|\bprocess\.|\bBuffer\b/)
  expect(code.length).toBeLessThanOrEqual(plain)
  expect(gzipSync(code, { level: 9 }).length).toBeLessThanOrEqual(gzipped)
})
