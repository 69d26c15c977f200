// Writes the generated parts of README.md: the tables of errors and settings, and the examples. --check: fails when they
// differ.
import { readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { REFUSALS } from '../dist/src/domain/errors.js'

const root = fileURLToPath(new URL('..', import.meta.url))
const path = `${root}README.md`
const before = readFileSync(path, 'utf8')
const parts = {
  errors: errors(),
  settings: settings(),
  'receiver.ts': example('receiver.ts', 'ts'),
  'receiver.py': example('receiver.py', 'python'),
}
const after = Object.entries(parts).reduce((text, [name, content]) => fill(text, name, content), before)

if (!process.argv.includes('--check')) writeFileSync(path, after)
else if (before !== after) {
  process.stderr.write('README.md is not current; run: node scripts/readme.mjs\n')
  process.exit(1)
}

function fill(text, name, content) {
  const pattern = new RegExp(`(<!-- generated:${name} -->\\n)[\\s\\S]*?(<!-- /generated -->)`)
  if (!pattern.test(text)) throw new Error(`README.md has no place for ${name}`)
  return text.replace(pattern, (_all, open, close) => `${open}${content}${close}`)
}

function errors() {
  const rows = Object.entries(REFUSALS).map(
    ([code, [status, message]]) => `| \`${code}\` | ${status} | ${message} |\n`,
  )
  const open = '| `<field> required` | 400 | Send the field. |\n'
  const summary = '<details><summary>All error codes</summary>\n\n'
  return `${summary}| \`error\` | Status | \`message\` |\n|---|---|---|\n${open}${rows.join('')}\n</details>\n`
}

function example(name, language) {
  return `\`\`\`${language}\n${readFileSync(`${root}examples/${name}`, 'utf8')}\`\`\`\n`
}

/** A setting in .env.example is a block of comment lines followed by `# NAME=value` or `NAME=value`. */
function settings() {
  const rows = []
  let words = []
  for (const line of readFileSync(`${root}.env.example`, 'utf8').split('\n')) {
    const setting = /^#? ?([A-Z][A-Z0-9_]+)=(.*)$/.exec(line)
    if (setting) {
      rows.push(`| \`${setting[1]}\` | ${words.join(' ')} |\n`)
      words = []
    } else if (line.startsWith('# ')) words.push(line.slice(2))
    else words = []
  }
  return `| Variable | Meaning |\n|---|---|\n${rows.join('')}`
}
