import { spawnSync } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { code, FLOORS, ROOMS, readSource, type SourceFile, sourcesIn } from '../scripts/imports.mjs'
import { packagePath } from '../src/config/package-path.ts'

const ROOT = packagePath('.')

const files = ROOMS.flatMap(sourcesIn)

/** Who may import a package; everybody else must go through that room. */
const OWNERS: Record<string, RegExp> = {
  express: /^src\/http\//,
  helmet: /^src\/http\//,
  cookie: /^src\/http\//,
  mongoose: /^src\/store\//,
  pino: /^src\/compose\/log\.ts$/,
  'prom-client': /^src\/compose\/metrics\.ts$/,
  commander: /^src\/cli\//,
  fflate: /^src\/cli\//,
  'age-encryption': /^src\/cli\//,
  libsql: /^embedded-mongo\//,
  bson: /^embedded-mongo\//,
  agenda: /^src\/jobs\//,
  '@agendajs/mongo-backend': /^src\/jobs\//,
  '@slack/bolt': /^adapters\/slack\//,
  '@slack/oauth': /^adapters\/slack\//,
  botbuilder: /^adapters\/teams\/bot\.ts$/,
  '@simplewebauthn/server': /^src\/(flow|http)\//,
  otplib: /^src\/flow\/people\//,
  qrcode: /^src\/http\//,
  'web-push': /^src\/outbound\//,
  jose: /^src\/signing\//,
  '@noble/ed25519': /^(src\/signing|dashboard\/verify)\//,
  'zod-openapi': /^src\/http\//,
}

/** Rooms a room may import from, besides itself; `types` = type imports only. */
const DOORS: { room: RegExp; may: RegExp; types?: RegExp }[] = [
  { room: /^src\/domain\//, may: /^src\/domain\// },
  { room: /^src\/ports\//, may: /^src\/(ports|domain)\// },
  { room: /^src\/signing\//, may: /^src\/(signing|domain)\//, types: /^src\/ports\/ports\.ts$/ },
  { room: /^src\/flow\//, may: /^src\/(flow|domain|signing|ports)\//, types: /^src\/store\// },
  {
    room: /^src\/store\//,
    may: /^src\/(store|ports|domain)\//,
    types: /^src\/signing\/key-record\.ts$/,
  },
  { room: /^src\/jobs\//, may: /^src\/(jobs|flow|ports|domain)\// },
  { room: /^src\/http\//, may: /^src\/(http|flow|ports|domain|signing)\// },
  // Pages take their types from the contract: it must compile in a browser.
  { room: /^src\/http\/api\//, may: /^src\/(http\/api|domain)\/|^src\/signing\/base64\.ts$/ },
  {
    room: /^src\/outbound\//,
    may: /^src\/(outbound|domain)\//,
    types: /^src\/ports\/ports\.ts$/,
  },
  { room: /^src\/cli\//, may: /^(adapters|embedded-mongo|src)\/(?!http\/(?!api\/))/ },
  {
    room: /^adapters\/shared\//,
    may: /^(adapters\/shared|src\/(domain|ports))\//,
    types: /^src\/flow\//,
  },
  {
    room: /^adapters\//,
    may: /^(adapters|src\/(flow|ports|domain))\//,
    types: /^src\/(store\/chat\/[a-z-]+|http\/http-deps|config\/(slack|teams))\.ts$/,
  },
  { room: /^embedded-mongo\//, may: /^embedded-mongo\/src\// },
  { room: /^packages\/client\/cli\//, may: /^packages\/client\/(cli|src)\// },
  // It runs everywhere: what it imports of the service must, too.
  {
    room: /^packages\/client\/src\//,
    may: /^(packages\/client\/src\/|src\/domain\/parse-json\.ts|src\/signing\/(canonical|verify-bundle|verify-core|verify-web|votes|log\/policy)\.ts)/,
  },
  {
    room: /^webauthn-page\/kit\//,
    may: /^(webauthn-page\/kit\/|src\/domain\/(cut-text|precedent-words|search|text|text-check|text-direction|text-scripts|request|bootstrap|attachment|image)\.ts|src\/signing\/(canonical|base64)\.ts)/,
    types: /^src\//,
  },
  {
    room: /^webauthn-page\/(?!kit\/)/,
    may: /^(webauthn-page\/|dashboard\/(shell\/(account-view|navigation)|inbox\/invitations|requests\/request-past)\.ts|src\/domain\/(pages|text|text-direction|text-scripts|request|bootstrap|attachment)\.ts|src\/signing\/(canonical|base64)\.ts)/,
    types: /^src\//,
  },
  {
    room: /^dashboard\/verify\//,
    may: /^(dashboard\/|webauthn-page\/kit\/|src\/domain\/(text|identifier|parse-json|read-paste)\.ts|src\/signing\/(base64|bundle|canonical|jwks|log\/policy|receipt-checks|unsigned-fields|verify-bundle|verify-web|votes)\.ts)/,
    types: /^src\//,
  },
  {
    room: /^dashboard\/(?!verify\/)/,
    may: /^(dashboard\/|adapters\/slack\/manifest\.ts|webauthn-page\/kit\/|src\/domain\/(csv|search|text|text-scripts|cut-text|event|given|policy|request|bootstrap)\.ts|src\/signing\/(canonical|base64)\.ts)/,
    types: /^src\//,
  },
]

describe('import rules', () => {
  it('lets every room import only through its doors', () => {
    const broken = files.flatMap((file) =>
      DOORS.filter(({ room }) => room.test(file.path)).flatMap(({ may, types }) =>
        file.imports
          .filter(({ target }) => ROOMS.some((room) => target.startsWith(`${room}/`)))
          .filter(({ target, typeOnly }) => !may.test(target) && !(typeOnly && types?.test(target)))
          .map(({ target }) => `${file.path} imports ${target}`),
      ),
    )
    expect(broken).toEqual([])
  })

  it('lets the product into the machine of chat cards by one door', () => {
    const room = /^src\/flow\/tell\/cards\//
    const past = files
      .filter(({ path }) => !room.test(path))
      .flatMap(({ path, imports }) => imports.map(({ target }) => ({ path, target })))
      .filter(({ target }) => room.test(target) && target !== 'src/flow/tell/cards/send-cards.ts')
    expect(past).toEqual([])
  })

  it('lets no room import from one above it', () => {
    const climbing = Object.entries(FLOORS).flatMap(([folder, floors]) => {
      const floorOf = (path: string) => floors.indexOf(path.slice(folder.length + 1).split('/')[0] ?? '')
      const inside = files.filter(({ path }) => path.startsWith(`${folder}/`))
      expect(inside.filter(({ path }) => floorOf(path) < 0).map(({ path }) => path)).toEqual([])
      return inside.flatMap(({ path, imports }) =>
        imports
          .filter(({ target }) => target.startsWith(`${folder}/`) && floorOf(target) > floorOf(path))
          .map(({ target }) => `${path} imports ${target}`),
      )
    })
    expect(climbing).toEqual([])
  })

  it('gives every package one owner', () => {
    const broken = files.flatMap((file) =>
      file.imports
        .map(({ target }) => target)
        .filter((target) => OWNERS[target] !== undefined && !OWNERS[target].test(file.path))
        .map((target) => `${file.path} imports ${target}`),
    )
    expect(broken).toEqual([])
  })

  it('lets benchmarks and scripts take from the built service only what its sources export', () => {
    const wanted = ['bench', 'scripts'].flatMap((folder) =>
      readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })
        .filter((name) => name.endsWith('.mjs'))
        .flatMap((name) => builtImports(`${folder}/${name}`)),
    )
    expect(wanted.length).toBeGreaterThan(20)
    expect(wanted.filter(({ path, name }) => !exportsOf(path).includes(name))).toEqual([])
  })

  it('has no circle of imports, types included', () => {
    let left = files
    for (let before = Number.POSITIVE_INFINITY; left.length < before; ) {
      before = left.length
      const paths = new Set(left.map(({ path }) => path))
      const imported = new Set(left.flatMap(({ imports }) => imports.map(({ target }) => target)))
      left = left.filter(
        ({ path, imports }) => imported.has(path) && imports.some(({ target }) => paths.has(target)),
      )
    }
    expect(left.map(({ path }) => path)).toEqual([])
  })

  it('keeps domain free of packages, Node and the clock', () => {
    const domain = files.filter(({ path }) => path.startsWith('src/domain/'))
    const outside = domain.flatMap((file) => file.imports.filter(({ target }) => !target.startsWith('src/')))
    const impure = domain.filter(({ text }) =>
      /\b(Date\.now|new Date\(\)|Math\.random|process\.|performance\.)/.test(text),
    )
    expect(domain.length).toBeGreaterThan(5)
    expect([...outside.map(({ target }) => target), ...impure.map(({ path }) => path)]).toEqual([])
  })

  it('reads process.env in config/config.ts alone, and exits in main.ts and the command line alone', () => {
    const server = files.filter(({ path }) => !/^(webauthn-page|dashboard|packages)\//.test(path))
    const environment = server
      .filter(({ text }) => code(text).includes('process.env'))
      .map(({ path }) => path)
    const exits = server.filter(({ text }) => code(text).includes('process.exit')).map(({ path }) => path)
    expect(environment).toEqual(['src/config/config.ts'])
    expect(exits.filter((path) => path !== 'src/main.ts' && !path.startsWith('src/cli/'))).toEqual([])
  })

  it('has the picture of docs/architecture.md as the imports are now', () => {
    const check = ['scripts/docs.mjs', '--check']
    const { status, stderr } = spawnSync(process.execPath, check, { cwd: ROOT, encoding: 'utf8' })
    expect([status, stderr]).toEqual([0, ''])
  })

  it('lets only the composition root, the command line and the service reach the embedded store', () => {
    const reach = files
      .filter(({ path }) => path.startsWith('src/'))
      .filter(({ imports }) => imports.some(({ target }) => /^embedded-mongo(\/|$)/.test(target)))
    expect(
      reach
        .map(({ path }) => path)
        .filter((path) => path !== 'src/compose/open-store.ts' && !path.startsWith('src/cli/')),
    ).toEqual([])
  })
})

describe('house numbers', () => {
  const tests = ['test', 'embedded-mongo/test', 'packages/client/test'].flatMap((folder) => sourcesIn(folder))
  const everything = [...files, ...tests].filter(({ text }) => !text.startsWith('// Generated '))

  it('keeps files short: nine in ten of the product 280 lines, five over 400, none at all over 500', () => {
    const lengths = files.map(linesOf).sort((a, b) => a - b)
    expect(lengths[Math.floor(lengths.length * 0.9)]).toBeLessThanOrEqual(280)
    const styles = ['dashboard/styles', 'webauthn-page/kit/styles'].flatMap((folder) =>
      readdirSync(join(ROOT, folder)).map((name) => readSource(join(folder, name))),
    )
    const longerThan = (lines: number) =>
      [...everything, ...styles].filter((file) => linesOf(file) > lines).map(({ path }) => path)
    expect(longerThan(400).length, longerThan(400).join('\n')).toBeLessThanOrEqual(5)
    expect(longerThan(500)).toEqual([])
  })

  it('gives a file more than one reader: at most 15 in 100 have one importer and no test of their own', () => {
    const tested = new Set(tests.flatMap(({ imports }) => imports.map(({ target }) => target)))
    const importers = new Map<string, Set<string>>(files.map(({ path }) => [path, new Set()]))
    for (const { path, imports } of files) for (const { target } of imports) importers.get(target)?.add(path)
    const crumbs = files.filter(({ path }) => importers.get(path)?.size === 1 && !tested.has(path))
    expect(crumbs.length / files.length, crumbs.map(({ path }) => path).join('\n')).toBeLessThanOrEqual(0.15)
  })

  it('names no drawer "utils" or "helpers"', () => {
    expect(
      everything
        .map(({ path }) => path)
        .filter((path) => /(^|\/)(utils?|helpers?|misc|common)(\/|\.ts$)/.test(path)),
    ).toEqual([])
  })
})

/** What a script takes from `dist`, by the path of the source it is built from. */
function builtImports(script: string): { script: string; path: string; name: string }[] {
  const text = readFileSync(join(ROOT, script), 'utf8')
  return [...text.matchAll(/^import \{([^}]+)\} from '(?:\.\.\/)+dist\/(src\/[^']+)\.js'/gm)].flatMap(
    ([, names = '', path = '']) =>
      names
        .split(',')
        .map((name) => name.trim().replace(/ as .*/, ''))
        .filter((name) => name !== '')
        .map((name) => ({ script, path: `${path}.ts`, name })),
  )
}

function exportsOf(path: string): string[] {
  const text = files.find((file) => file.path === path)?.text ?? ''
  const declared = text.matchAll(/^export (?:async )?(?:function|const|class) (\w+)/gm)
  return [...declared].map(([, name = '']) => name)
}

function linesOf({ text }: SourceFile): number {
  return text.split('\n').length - 1
}
