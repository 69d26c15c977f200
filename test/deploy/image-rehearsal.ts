import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { cp, mkdir, readdir, readFile, stat, symlink } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { z } from 'zod'
import { packagePath } from '../../src/config/package-path.ts'
import { size } from '../support/size.ts'
import { execForm, type Instruction, ignores, pairs, parseDockerfile, type Stage } from './dockerfile.ts'

/** The files of an image, made without a container engine by doing what its Dockerfile says in folders. */
export interface RehearsedImage {
  /** Folder that stands for `/`. */
  root: string
  env: Readonly<Record<string, string>>
  /** ENTRYPOINT and CMD, paths moved under `root`. */
  command: string[]
  healthcheck: string[]
}

/** What `--build-arg COMMIT` names. */
export const COMMIT = 'c0ffee123456'

const run = promisify(execFile)

const versions = z.record(z.string(), z.string()).optional()
const lockfile = z.object({
  packages: z.record(z.string(), z.object({ dependencies: versions, optionalDependencies: versions })),
})

/**
 * Carries out COPY and every RUN of npm and node, stage by stage; other commands prepare the system and are left out. The
 * compiling stage borrows the installed packages of this checkout, since they are those of the same lockfile.
 * @param folder empty; every stage becomes a folder in it
 */
export async function rehearseImage(folder: string): Promise<RehearsedImage> {
  const stages = parseDockerfile(await readFile(packagePath('Dockerfile'), 'utf8'))
  const dockerignore = await readFile(packagePath('.dockerignore'), 'utf8')
  const roots = new Map<string, string>()
  let root = folder
  for (const [index, stage] of stages.entries()) {
    const name = stage.name ?? String(index)
    root = join(folder, name)
    roots.set(name, root)
    await mkdir(root)
    await carryOut(stage, { root, roots, dockerignore })
  }
  const last = stages.at(-1)?.instructions ?? []
  const moved = (text: string) => execForm(text).map((word) => word.replace(/^\/app\//, `${root}/app/`))
  return {
    root,
    env: pairs(textOf(last, 'ENV')),
    command: [...moved(textOf(last, 'ENTRYPOINT')), ...moved(textOf(last, 'CMD'))],
    healthcheck: moved(textOf(last, 'HEALTHCHECK').replace(/^CMD /, '')),
  }
}

/** The rest of the only instruction of that name. */
export function textOf(instructions: readonly Instruction[], name: string): string {
  const [only, second] = instructions.filter((instruction) => instruction.name === name)
  if (only === undefined || second !== undefined) throw new Error(`not exactly one ${name}`)
  return only.text
}

interface Workshop {
  root: string
  roots: ReadonlyMap<string, string>
  dockerignore: string
}

async function carryOut(stage: Stage, shop: Workshop): Promise<void> {
  let here = shop.root
  for (const { name, text, flags } of stage.instructions) {
    if (name === 'WORKDIR') here = join(shop.root, text)
    await mkdir(here, { recursive: true })
    if (name === 'COPY') await copy(text.split(/\s+/), flags.from, here, shop)
    if (name === 'RUN') await runHere(text, here)
  }
}

async function copy(words: string[], from: string | undefined, here: string, shop: Workshop): Promise<void> {
  const target = words.at(-1) ?? ''
  for (const source of words.slice(0, -1)) {
    const context = from === undefined ? packagePath('.') : (shop.roots.get(from) ?? '')
    const origin = join(context, source)
    const isFolder = (await stat(origin)).isDirectory()
    // A folder gives its content, a file itself.
    const destination = join(here, target, isFolder ? '' : basename(source))
    await mkdir(isFolder ? destination : dirname(destination), { recursive: true })
    const wanted = (path: string) => from !== undefined || !ignores(shop.dockerignore, path)
    if (!isFolder && !wanted(source)) throw new Error(`${source} is in .dockerignore`)
    if (!isFolder) await cp(origin, destination)
    else await copyFolder(origin, destination, source === '.' ? '' : `${source}/`, wanted)
  }
}

async function copyFolder(
  origin: string,
  destination: string,
  prefix: string,
  wanted: (path: string) => boolean,
) {
  for (const entry of await readdir(origin)) {
    if (!wanted(`${prefix}${entry}`)) continue
    await cp(join(origin, entry), join(destination, entry), {
      recursive: true,
      verbatimSymlinks: true,
      filter: (path) => wanted(prefix + path.slice(origin.length + 1)),
    })
  }
}

const INSTALL = 'npm ci --omit=dev --ignore-scripts --workspaces=false'

/**
 * What `INSTALL` installs, by the lockfile, without unpacking it again: the packages of this checkout that the service's own
 * dependencies lead to. `npm run test:long` installs.
 */
async function linkProductionPackages(here: string): Promise<void> {
  const { packages } = lockfile.parse(JSON.parse(await readFile(join(here, 'package-lock.json'), 'utf8')))
  const wanted = new Set<string>([''])
  for (const path of wanted) {
    const { dependencies, optionalDependencies } = packages[path] ?? {}
    for (const name of Object.keys({ ...dependencies, ...optionalDependencies }))
      wanted.add(`node_modules/${name}`)
  }
  for (const path of [...wanted].filter((path) => existsSync(packagePath(path)) && path !== '')) {
    await mkdir(dirname(join(here, path)), { recursive: true })
    await symlink(packagePath(path), join(here, path))
  }
}

async function runHere(command: string, here: string): Promise<void> {
  if (command === 'npm ci --ignore-scripts') {
    await symlink(packagePath('node_modules'), join(here, 'node_modules'))
    return
  }
  if (command === INSTALL && size(0, 1) === 0) return linkProductionPackages(here)
  if (!/^(?:npm|node) /.test(command)) return
  // The packages are in npm's cache since this checkout was installed.
  const env = { ...process.env, COMMIT, npm_config_prefer_offline: 'true' }
  await run('sh', ['-c', command], { cwd: here, env }).catch(
    ({ message, stdout }: Error & { stdout: string }) => {
      throw new Error(`${message}\n${stdout}`)
    },
  )
}
