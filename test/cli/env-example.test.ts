import { readFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import { DEFAULTS, readConfig, VARIABLES } from '../../src/config/config.ts'
import { packagePath } from '../../src/config/package-path.ts'

const text = readFileSync(packagePath('.env.example'), 'utf8')
const lines = text.split('\n')
const named = lines.flatMap((line) => /^#?([A-Z][A-Z0-9_]*)=/.exec(line)?.[1] ?? [])

it('.env.example lists exactly the variables that are read, each once', () => {
  expect([...named].sort()).toEqual([...VARIABLES].sort())
})

it('.env.example shows the default of whatever has one, and so does docs/configuration.md', () => {
  const page = readFileSync(packagePath('docs/configuration.md'), 'utf8')
  for (const [name, value] of Object.entries(DEFAULTS)) {
    expect(lines).toContain(`#${name}=${value}`)
    expect(page).toContain(`| \`${name}\` | \`${value}\` |`)
  }
})

it('.env.example sets nothing and explains everything', () => {
  expect(lines.filter((line) => line !== '' && !line.startsWith('#'))).toEqual([])
  for (const name of named.filter((name) => name !== 'PORT')) {
    const at = lines.findIndex((line) => line.startsWith(`#${name}=`))
    expect(lines[at - 1], name).toMatch(/^# \S/)
  }
})

it('.env.example holds values that work, apart from the secrets', () => {
  const given = lines.flatMap((line) => {
    const [, name = '', value = ''] = /^#([A-Z][A-Z0-9_]*)=(.*)$/.exec(line) ?? []
    return value === '' || ['NODE_ENV', 'STORE'].includes(name) ? [] : [[name, value]]
  })
  expect(readConfig(Object.fromEntries(given))).toMatchObject({
    baseUrl: 'https://approvals.example.com',
    port: 3000,
    trustProxy: 1,
  })
})
