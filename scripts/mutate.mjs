// Mutation testing of the rules: src/domain, src/signing, decisions and people. Prints the mutants that no test notices.
// node scripts/mutate.mjs [--only REGEX] [--share 0.1] [--log FILE] [test files or folders, in the order of their runs]
// --only: modules whose path in src matches. --share: of the mutants, always the same ones.
// --log: goes on where an interrupted run stopped.
import { spawn, spawnSync } from 'node:child_process'
import {
  appendFileSync,
  cpSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { withMutants } from './mutants.mjs'

const root = fileURLToPath(new URL('..', import.meta.url))
const MODULES = /^(?:domain|signing|flow\/(?:people|joining))\/|^flow\/requests\/decide/
const TESTS = ['domain', 'signing', 'flow/people', 'flow', 'http', 'cli', 'adapters'].map(
  (name) => `test/${name}`,
)
/** Loops have an end (`mutants.mjs`); whatever else hangs for so long is over. */
const HANGS_MS = 120_000
/** Of all processes of the run together: some mutants allocate without end. */
const MOST_BYTES = 4e9

const { values, positionals } = parseArgs({
  options: {
    only: { type: 'string', default: '' },
    share: { type: 'string', default: '1' },
    log: { type: 'string' },
  },
  allowPositionals: true,
})
const sandbox = mkdtempSync(join(tmpdir(), 'mutants-'))
const log = values.log ?? join(sandbox, 'log.jsonl')
process.on('exit', () => rmSync(sandbox, { recursive: true, force: true }))
for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => process.exit(1))

let running
process.on('exit', () => {
  if (running?.exitCode === null && running.signalCode === null) process.kill(-running.pid, 'SIGKILL')
})

const mutants = prepare().filter(({ id }) => spread(id) < Number(values.share))
const modules = join(sandbox, 'modules.json')
writeFileSync(modules, JSON.stringify(mutants.map(({ id, name }) => [id, name.replace(/\.js$/, '')])))
process.stdout.write(`${mutants.length} mutants; log: ${log}\n`)
if (!existsSync(log)) writeFileSync(log, '')
const files = filesOf(positionals.length > 0 ? positionals : TESTS)
while (!(await run(files))) process.stdout.write('a mutant hung; going on after it\n')
await runLoaded(files.filter((name) => /^test\/(?:domain|signing)/.test(name)))
report()

/** Knuth's multiplicative hash, as a share of its range: ids beside each other lie far apart. */
function spread(id) {
  return (Math.imul(id, 2_654_435_761) >>> 0) / 2 ** 32
}

/** A copy of the tree whose build has the mutants in it. */
function prepare() {
  cpSync(root, sandbox, {
    recursive: true,
    preserveTimestamps: true,
    filter: (path) => !/\/(?:node_modules|\.git)$/.test(path),
  })
  symlinkSync(join(root, 'node_modules'), join(sandbox, 'node_modules'))
  writeFileSync(join(sandbox, 'mutation.config.ts'), configuration())
  const found = []
  const built = join(sandbox, 'dist/src')
  for (const name of readdirSync(built, { recursive: true, encoding: 'utf8' }).sort()) {
    if (!name.endsWith('.js') || !MODULES.test(name) || !new RegExp(values.only).test(name)) continue
    const { code, mutants: inModule } = withMutants(readFileSync(join(built, name), 'utf8'), found.length + 1)
    writeFileSync(join(built, name), code)
    found.push(...inModule.map((mutant) => ({ ...mutant, name })))
  }
  // Copied folders are newer than what was built of them; a build would be one without mutants.
  for (const name of [
    ...readdirSync(join(sandbox, 'dist')),
    ...readdirSync(join(sandbox, 'embedded-mongo/dist')),
  ])
    if (name.endsWith('-built'))
      for (const folder of ['dist', 'embedded-mongo/dist']) touch(join(sandbox, folder, name))
  return found
}

/** One process, one file after the other, in the order given: cheap ones first. */
function configuration() {
  return `import { defineConfig } from 'vitest/config'
import { loadsWhatIsBuilt } from './test/support/compiled.ts'
const order = (process.env.MUTATION_FILES ?? '').split(' ')
class InOrder {
  shard = (files) => files
  sort = (files) => files.toSorted((a, b) => place(a) - place(b))
}
const place = ({ moduleId }) => order.findIndex((file) => moduleId.endsWith('/' + file))
export default defineConfig({
  plugins: [loadsWhatIsBuilt(import.meta.dirname)],
  test: {
    runner: '${join(root, 'scripts/mutation-runner.mjs')}',
    server: { deps: { external: [/\\/dist\\/.*\\.js$/] } },
    include: ['test/**/*.test.ts'],
    globalSetup: ['test/support/global-setup.ts'],
    setupFiles: ['test/support/fixed-seed.ts'],
    maxWorkers: 1,
    isolate: false,
    execArgv: ['--max-old-space-size=2000'],
    pool: 'forks',
    sequence: { sequencer: InOrder },
    testTimeout: 600_000,
    expect: { poll: { timeout: 15_000 } },
  },
})
`
}

/** Not those that change the state of their process, which is everybody's here (projects.ts). */
function filesOf(places) {
  const own =
    /\bvi\.(?:useFakeTimers\(\)|stub\w+\(|mock\(|spyOn\()|Object\.assign\(process\.env|process\.chdir\(/
  const all = places.flatMap((place) =>
    statSync(join(root, place)).isFile()
      ? [place]
      : readdirSync(join(root, place), { recursive: true, encoding: 'utf8' })
          .sort()
          .map((name) => `${place}/${name}`),
  )
  const tests = all.filter((name) => name.endsWith('.test.ts'))
  return [...new Set(tests)].filter((name) => !own.test(readFileSync(join(root, name), 'utf8')))
}

/** @returns whether it came to its end: a mutant that hangs counts as killed */
async function run(names) {
  const started = vitest(['--config', 'mutation.config.ts', ...names], {
    MUTATION_LOG: log,
    MUTATION_FILES: names.join(' '),
    MUTATION_MODULES: modules,
  })
  const watch = setInterval(() => {
    if (Date.now() - statSync(log).mtimeMs < HANGS_MS && memoryOf(started.child.pid) < MOST_BYTES) return
    const last = entries().at(-1)
    if (last?.event === 'tries') note({ event: 'killed', id: last.id, by: 'hanging' })
    process.kill(-started.child.pid, 'SIGKILL')
  }, 5_000)
  const { signal } = await started.ended
  clearInterval(watch)
  return signal === null
}

/** What is looked at only while modules are loaded (tables, patterns) is no use to switch later: a process for each. */
async function runLoaded(names) {
  const { reached, loaded, over } = verdicts()
  for (const { id } of mutants.filter(
    (one) => loaded.has(one.id) && !reached.has(one.id) && !over.has(one.id),
  )) {
    const { code } = await vitest(['--bail=1', '--maxWorkers=1', ...names], { MUTANT: String(id) }).ended
    note(code === 0 ? { event: 'lived', id } : { event: 'killed', id, by: 'loading' })
  }
}

function vitest(args, env) {
  const child = spawn(join(root, 'node_modules/.bin/vitest'), ['run', '--reporter=dot', ...args], {
    cwd: sandbox,
    stdio: 'ignore',
    env: { ...process.env, ...env },
    detached: true,
  })
  const ended = new Promise((resolve) => child.once('exit', (code, signal) => resolve({ code, signal })))
  running = child
  return { child, ended }
}

function memoryOf(group) {
  const { stdout } = spawnSync('ps', ['-o', 'rss=', '-g', String(group)], { encoding: 'utf8' })
  return stdout.split('\n').reduce((sum, line) => sum + Number(line) * 1024, 0)
}

function touch(path) {
  if (existsSync(path)) utimesSync(path, new Date(), new Date())
}

function note(entry) {
  appendFileSync(log, `${JSON.stringify(entry)}\n`)
}

function entries() {
  return readFileSync(log, 'utf8')
    .trim()
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line))
}

function verdicts() {
  const all = entries()
  const ids = (event) =>
    new Set(all.filter((one) => one.event === event).flatMap(({ id, ids }) => ids ?? [id]))
  const [killed, lived] = [ids('killed'), ids('lived')]
  return { killed, reached: ids('reached'), loaded: ids('loaded'), over: new Set([...killed, ...lived]) }
}

function report() {
  const { killed, reached, loaded } = verdicts()
  for (const { id, name, line, was, is } of mutants) {
    if (killed.has(id)) continue
    const kind = reached.has(id) ? 'survived' : loaded.has(id) ? 'survived (loaded)' : 'never reached'
    process.stdout.write(
      `${kind} ${id} dist/src/${name}:${line}  ${was.slice(0, 120)}  =>  ${is.slice(0, 120)}\n`,
    )
  }
  const rooms = new Set(mutants.map(({ name }) => name.split('/')[0]))
  const of = (some) => `${some.filter(({ id }) => killed.has(id)).length} of ${some.length} killed`
  for (const room of rooms)
    process.stdout.write(`${room}: ${of(mutants.filter(({ name }) => name.startsWith(`${room}/`)))}\n`)
  process.stdout.write(`${of(mutants)}\n`)
}
