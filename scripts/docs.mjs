// Writes what is generated in docs/: tables of errors and settings, examples, the picture of the rooms. --check: fails when it differs.
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { DEFAULTS } from '../dist/src/config/config.js'
import { fieldRequired, REFUSALS } from '../dist/src/domain/errors.js'
import { drawRooms } from './draw-rooms.mjs'

const root = fileURLToPath(new URL('..', import.meta.url))
const pages = {
  'docs/errors.md': { errors: errors() },
  'docs/configuration.md': { settings: settings() },
  'docs/agents.md': {
    'agents/plain.ts': example('agents/plain.ts', 'ts'),
    'agents/langgraph_interrupt.py': example('agents/langgraph_interrupt.py', 'python'),
    'agents/github-actions/deploy.yml': example('agents/github-actions/deploy.yml', 'yaml'),
  },
  'docs/api.md': { 'agent.ts': example('agent.ts', 'ts') },
  'docs/callbacks.md': {
    'receiver.ts': example('receiver.ts', 'ts'),
    'receiver.py': example('receiver.py', 'python'),
  },
}

for (const [page, parts] of Object.entries(pages))
  write(page, (before) => Object.entries(parts).reduce((text, part) => fill(page, text, part), before))
write('docs/architecture.svg', drawRooms)

function write(page, make) {
  const path = `${root}${page}`
  const before = existsSync(path) ? readFileSync(path, 'utf8') : ''
  const after = make(before)
  if (!process.argv.includes('--check')) writeFileSync(path, after)
  else if (before !== after) {
    process.stderr.write(`${page} is not current; run: npm run docs\n`)
    process.exitCode = 1
  }
}

function fill(page, text, [name, content]) {
  const pattern = new RegExp(`(<!-- generated:${name} -->\\n)[\\s\\S]*?(<!-- /generated -->)`)
  if (!pattern.test(text)) throw new Error(`${page} has no place for ${name}`)
  return text.replace(pattern, (_all, open, close) => `${open}${content}${close}`)
}

function errors() {
  const rows = Object.entries(REFUSALS).map(
    ([code, [status, message]]) => `| \`${code}\` | ${status} | ${message} |\n`,
  )
  const open = `| \`<field> required\` | 400 | ${fieldRequired('{field}').publicMessage} |\n`
  return `| \`error\` | Status | \`message\` |\n|---|---|---|\n${open}${rows.join('')}`
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
      const usual = DEFAULTS[setting[1]]
      rows.push(`| \`${setting[1]}\` | ${usual === undefined ? '' : `\`${usual}\``} | ${words.join(' ')} |\n`)
      words = []
    } else if (line.startsWith('# ')) words.push(line.slice(2))
    else words = []
  }
  return `| Variable | Default | Meaning |\n|---|---|---|\n${rows.join('')}`
}
