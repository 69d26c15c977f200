// What of the product no test runs: `node scripts/coverage.mjs [vitest's arguments]` runs the tests and counts in every process
// that they start, and in Chromium. `--more [vitest's arguments]` adds a run to the last one. `--lines [START OF A PATH]` prints
// what the last runs left out. Not counted: processes that a signal killed, the service worker, the files in bin/.
import { spawn } from 'node:child_process'
import { chmodSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, relative, resolve } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { build } from 'vite'

const root = fileURLToPath(new URL('..', import.meta.url))
const STATE = join(root, 'node_modules/.cache/coverage.json')
const BASE64 = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/'
const [option, ...rest] = process.argv.slice(2)
const pages = await pagesWithMaps()
/** By path of a script: for each of its letters, 1 where it ran. */
const ran = new Map()

if (option === '--lines') readState()
else {
  if (option === '--more') readState()
  process.exitCode = await runTests(option === '--more' ? rest : process.argv.slice(2))
  mkdirSync(dirname(STATE), { recursive: true })
  writeFileSync(
    STATE,
    JSON.stringify([...ran].map(([path, letters]) => [path, Buffer.from(letters).toString('base64')])),
  )
}
const sources = placesBySource()
if (option === '--lines') printLines(rest[0] ?? '')
printParts()

async function runTests(given) {
  const folder = mkdtempSync(join(tmpdir(), 'coverage-'))
  // Some tests start processes of another user.
  chmodSync(folder, 0o777)
  const hook = pathToFileURL(join(root, 'scripts/coverage-hook.mjs'))
  const env = { ...process.env, NODE_V8_COVERAGE: folder, NODE_OPTIONS: `--import=${hook}` }
  const tests = spawn(join(root, 'node_modules/.bin/vitest'), ['run', ...given], {
    cwd: root,
    env,
    stdio: 'inherit',
  })
  const ended = new Promise((done) => tests.once('close', done))
  // Stopped half-way, it tells what it counted so far.
  for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => tests.kill(signal))
  // Each process leaves 1 to 20 MB.
  const gathering = setInterval(() => gather(folder), 1000)
  const status = await ended
  clearInterval(gathering)
  gather(folder)
  rmSync(folder, { recursive: true })
  return status ?? 1
}

function gather(folder) {
  for (const name of readdirSync(folder)) {
    const file = join(folder, name)
    let report
    try {
      report = JSON.parse(readFileSync(file, 'utf8'))
    } catch {
      continue // not yet written to its end
    }
    for (const script of report.result) add(script)
    rmSync(file)
  }
}

/** Ranges within a range come after it, and say more than it does. */
function add({ url, functions }) {
  const path = pathOf(url)
  const text = path === undefined ? undefined : textOf(path)
  if (text === undefined) return
  const now = new Uint8Array(text.length)
  for (const { ranges } of functions)
    for (const { startOffset, endOffset, count } of ranges)
      now.fill(count > 0 ? 1 : 0, startOffset, endOffset)
  const before = ran.get(path) ?? new Uint8Array(text.length)
  ran.set(
    path,
    before.map((letter, at) => letter | now[at]),
  )
}

function pathOf(url) {
  if (url.startsWith('http')) return `dist/pages${new URL(url).pathname}`
  if (!url.startsWith('file:')) return undefined
  const path = relative(root, fileURLToPath(url))
  return /^(dist|embedded-mongo\/dist)\//.test(path) ? path : undefined
}

function textOf(path) {
  try {
    return pages.get(path)?.code ?? readFileSync(join(root, path), 'utf8')
  } catch {
    return undefined
  }
}

function readState() {
  for (const [path, letters] of JSON.parse(readFileSync(STATE, 'utf8')))
    ran.set(path, Buffer.from(letters, 'base64'))
}

/** The pages as they are built, with the source maps that the build leaves out. */
async function pagesWithMaps() {
  const found = new Map()
  for (const folder of ['webauthn-page', 'dashboard']) {
    const configFile = join(root, folder, 'vite.config.ts')
    const options = { configFile, logLevel: 'error', build: { sourcemap: 'hidden', write: false } }
    for (const { fileName, code, map } of (await build(options)).output)
      if (map) found.set(`dist/pages/${fileName}`, { code, map, folder })
  }
  return found
}

/** By source: which of the places that a source map names ran. Comments and types have none. */
function placesBySource() {
  const bundled = new Map()
  for (const path of scriptsIn('dist/service')) {
    const places = placesOf(path, mapBeside(path))
    for (const [source, ofSource] of grouped(places)) {
      if (source.startsWith('embedded-mongo/dist/')) runAsBundled(source, ofSource)
      else bundled.set(source, [...(bundled.get(source) ?? []), ...ofSource])
    }
  }
  const all = new Map()
  const note = (places) => {
    for (const { source, line, column, ran } of places) {
      const known = all.get(source) ?? new Map()
      all.set(source, known)
      const key = line * 10_000 + column
      known.set(key, known.get(key) || ran)
    }
  }
  for (const path of ['dist/src', 'dist/adapters', 'embedded-mongo/dist'].flatMap(scriptsIn))
    note(placesOf(path, mapBeside(path)))
  for (const [source, places] of bundled) {
    const known = all.get(source)
    if (known !== undefined) runWithin(known, places)
  }
  for (const [path, { map, folder }] of pages)
    note(
      placesOf(path, map, join('dist', folder, 'assets')).filter(({ source }) =>
        /^(dashboard|webauthn-page)\//.test(source),
      ),
    )
  return all
}

function grouped(places) {
  const groups = new Map()
  for (const place of places) {
    const group = groups.get(place.source)
    if (group === undefined) groups.set(place.source, [place])
    else group.push(place)
  }
  return groups
}

/** What ran in the bundle ran: from each place of it to the next. */
function runWithin(known, places) {
  const keys = [...known.keys()].sort((a, b) => a - b)
  const bundle = sorted(places)
  let at = -1
  for (const key of keys) {
    while (at + 1 < bundle.length && bundle[at + 1].key <= key) at += 1
    if (bundle[at]?.ran) known.set(key, true)
  }
}

function runAsBundled(path, places) {
  const text = textOf(path)
  if (text === undefined) return
  const starts = lineStarts(text)
  const letters = ran.get(path) ?? new Uint8Array(text.length)
  const bundle = sorted(places)
  bundle.forEach(({ line, column, ran }, at) => {
    const next = bundle[at + 1]
    if (ran)
      letters.fill(
        1,
        starts[line] + column,
        next === undefined ? text.length : starts[next.line] + next.column,
      )
  })
  ran.set(path, letters)
}

/** By place, once each: one ran if any that came of it did. */
function sorted(places) {
  const once = new Map()
  for (const { line, column, ran } of places) {
    const key = line * 10_000 + column
    once.set(key, { key, line, column, ran: ran || once.get(key)?.ran === true })
  }
  return [...once.values()].sort((a, b) => a.key - b.key)
}

function scriptsIn(folder) {
  return readdirSync(join(root, folder), { recursive: true })
    .filter((name) => name.endsWith('.js'))
    .map((name) => join(folder, name))
}

function mapBeside(path) {
  try {
    return JSON.parse(readFileSync(join(root, `${path}.map`), 'utf8'))
  } catch {
    return { sources: [], mappings: '' }
  }
}

/** What a source map says (ECMA-426): `source` is relative to the root. */
function placesOf(path, { sources, mappings }, folder = dirname(path)) {
  const letters = ran.get(path)
  const starts = lineStarts(textOf(path) ?? '')
  const names = sources.map((name) => relative(root, resolve(root, folder, name)))
  const places = []
  let [source, line, column] = [0, 0, 0]
  mappings.split(';').forEach((segments, row) => {
    let generated = 0
    for (const segment of segments === '' ? [] : segments.split(',')) {
      const [forward, otherSource, down, right] = decode(segment)
      generated += forward
      if (otherSource === undefined) continue
      source += otherSource
      line += down
      column += right
      places.push({ source: names[source], line, column, ran: letters?.[starts[row] + generated] === 1 })
    }
  })
  return places
}

/** Base64 VLQ: five bits a letter, the lowest first; the lowest of all is the sign. */
function decode(segment) {
  const numbers = []
  let [value, shift] = [0, 0]
  for (const letter of segment) {
    const bits = BASE64.indexOf(letter)
    value += (bits & 31) << shift
    shift += 5
    if (bits & 32) continue
    numbers.push(value & 1 ? -(value >> 1) : value >> 1)
    value = shift = 0
  }
  return numbers
}

function lineStarts(text) {
  return [0, ...[...text.matchAll(/\n/g)].map(({ index }) => index + 1)]
}

function printLines(start) {
  for (const [source, places] of [...sources].sort()) {
    const never = [...places.values()].filter((ran) => !ran).length
    if (!source.startsWith(start) || never === 0) continue
    process.stdout.write(`\n${source}: ${never} of ${places.size}\n`)
    const lines = readFileSync(join(root, source), 'utf8').split('\n')
    const keys = [...places.keys()].sort((a, b) => a - b)
    keys.forEach((key, at) => {
      const [line, column] = [Math.floor(key / 10_000), key % 10_000]
      const before = keys[at - 1] ?? -1
      const begins = Math.floor(before / 10_000) < line || places.get(before)
      if (places.get(key) || !begins) return
      const next = keys.slice(at).find((other) => places.get(other) || Math.floor(other / 10_000) > line) ?? 0
      const end = Math.floor(next / 10_000) === line ? next % 10_000 : undefined
      process.stdout.write(`${String(line + 1).padStart(5)}  ${(lines[line] ?? '').slice(column, end)}\n`)
    })
  }
}

function printParts() {
  const parts = new Map()
  for (const [source, places] of sources) {
    const names = source.startsWith('src/')
      ? ['src', source.split('/').slice(0, 2).join('/')]
      : [source.split('/')[0]]
    if (names[0] !== 'embedded-mongo') names.push('all but embedded-mongo')
    for (const name of names) {
      const sum = parts.get(name) ?? { never: 0, all: 0 }
      parts.set(name, sum)
      sum.all += places.size
      sum.never += [...places.values()].filter((ran) => !ran).length
    }
  }
  process.stdout.write('\n   never run      places  part\n')
  for (const [name, { never, all }] of [...parts].sort())
    process.stdout.write(
      `${`${((100 * never) / all).toFixed(1)} %`.padStart(8)} ${String(never).padStart(7)} ${String(all).padStart(7)}  ${name}\n`,
    )
}
