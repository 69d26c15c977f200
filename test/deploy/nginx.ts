import { type ChildProcess, execFileSync, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, existsSync, openSync, readFileSync } from 'node:fs'
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onTestFinished, vi } from 'vitest'
import { packagePath } from '../../src/config/package-path.ts'
import { PATIENCE_MS } from '../support/patience.ts'
import { freePort } from '../support/service.ts'
import { describeWith } from './describe-with.ts'

const EXECUTABLE = process.env.NGINX_PATH ?? '/usr/sbin/nginx'

export const HAS_NGINX = existsSync(EXECUTABLE)

/** `describe` for tests that need a real nginx. */
export const describeWithNginx = describeWith('NGINX_PATH', EXECUTABLE)

/** Has this nginx `server … resolve` (1.27.3, as in docker-compose.yml)? Distributions often carry an older one. */
export function nginxResolves(): boolean {
  const { stderr } = spawnSync(EXECUTABLE, ['-v'], { encoding: 'utf8' })
  const [, minor = 0, patch = 0] = (/nginx\/([\d.]+)/.exec(stderr)?.[1] ?? '').split('.').map(Number)
  return minor > 27 || (minor === 27 && patch >= 3)
}

/** nginx with the configuration of docker-compose.yml, but for addresses and paths. */
export interface RunningProxy {
  /** Where it listens in the place of container port 8080. */
  port: number
  /** In the place of container port 8443. */
  tlsPort: number
  child: ChildProcess
  /** Access and error log. */
  log(): string
  end(): Promise<void>
}

export interface ProxyOptions {
  /** `address:port` of every process of the service. */
  processes: string[]
  listen?: 'listen-http.conf' | 'listen-https.conf'
  /** Folder of fullchain.pem and privkey.pem. */
  tlsDir?: string
  /** Replaces the shipped upstream.conf. */
  upstream?: string
  /** One worker with so many connections. */
  connections?: number
  /** Instead of all that is shipped: what stands in `http { … }`. */
  http?: string
}

/** One that ends with the test. */
export async function useProxy(options: ProxyOptions): Promise<RunningProxy> {
  const proxy = await startProxy(options)
  onTestFinished(() => proxy.end())
  return proxy
}

/** Starts one on 127.0.0.1. */
export async function startProxy(options: ProxyOptions): Promise<RunningProxy> {
  const folder = await mkdtemp(join(tmpdir(), 'countersign-proxy-'))
  // nginx started by root writes bodies as another user.
  await chmod(folder, 0o755)
  const port = await freePort()
  const tlsPort = await freePort()
  await writeConfiguration(folder, options, { port, tlsPort })
  const logFile = join(folder, 'log')
  // A file, since nginx cannot open /dev/stdout anew when it is a socket.
  const output = openSync(logFile, 'a')
  const args = ['-e', 'stderr', '-p', `${folder}/`, '-c', join(folder, 'nginx.conf'), '-g', 'daemon off;']
  const child = spawn(EXECUTABLE, args, { stdio: ['ignore', output, output] })
  closeSync(output)
  const log = (): string => readFileSync(logFile, 'utf8')
  const end = async (): Promise<void> => {
    await endProcess(child)
    await rm(folder, { recursive: true, force: true })
  }
  await vi.waitFor(
    () => {
      if (child.exitCode !== null) throw new Error(`nginx ended:\n${log()}`)
      return reach(port)
    },
    { timeout: PATIENCE_MS, interval: 20 },
  )
  return { port, tlsPort, child, log, end }
}

async function writeConfiguration(
  folder: string,
  options: ProxyOptions,
  { port, tlsPort }: { port: number; tlsPort: number },
): Promise<void> {
  const listen = shipped(options.listen ?? 'listen-http.conf')
    .replace('listen 8080', `listen 127.0.0.1:${port}`)
    .replace('listen 8443', `listen 127.0.0.1:${tlsPort}`)
    .replaceAll(' /tls/', ` ${options.tlsDir ?? '/tls'}/`)
  await writeFile(join(folder, 'listen.conf'), listen)
  await writeFile(join(folder, 'upstream.conf'), options.upstream ?? fixedUpstream(options.processes))
  const { connections, http } = options
  if (http !== undefined) {
    const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
      (of) => `${of}_temp_path ${of};`,
    )
    const listening = http.replace('listen 3000', `listen 127.0.0.1:${port}`)
    const main = `pid nginx.pid;\nevents {}\nhttp {\n${temporary.join('\n')}\naccess_log off;\n${listening}}\n`
    return writeFile(join(folder, 'nginx.conf'), main)
  }
  const few = (text: string) =>
    text
      .replace('worker_processes auto', 'worker_processes 1')
      .replace(/worker_connections \d+/, `worker_connections ${connections}`)
  const main = shipped('nginx.conf')
  await writeFile(join(folder, 'nginx.conf'), connections === undefined ? main : few(main))
  await writeFile(join(folder, 'service.conf'), shipped('service.conf'))
}

/** A certificate for localhost, in a folder as docker-compose.https.yml mounts it. */
export async function useCertificate(): Promise<{ tlsDir: string; certificate: Buffer }> {
  const tlsDir = await mkdtemp(join(tmpdir(), 'countersign-tls-'))
  onTestFinished(() => rm(tlsDir, { recursive: true, force: true }))
  const [certificate, key] = [join(tlsDir, 'fullchain.pem'), join(tlsDir, 'privkey.pem')]
  const make = 'req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 1 -subj /CN=localhost'
  const names = ['-addext', 'subjectAltName=DNS:localhost', '-out', certificate, '-keyout', key]
  execFileSync('openssl', [...make.split(' '), ...names], { stdio: 'pipe' })
  return { tlsDir, certificate: readFileSync(certificate) }
}

/** A file of deploy/nginx. */
export function shipped(name: string): string {
  return readFileSync(packagePath(`deploy/nginx/${name}`), 'utf8')
}

/** upstream.conf with addresses in the place of the name that Docker resolves. */
function fixedUpstream(processes: string[]): string {
  const line = /^ +server countersign:3000 resolve (.*;)$/m
  const servers = (_all: string, rest: string) =>
    processes.map((address) => `server ${address} ${rest}`).join('\n')
  return shipped('upstream.conf')
    .replace(/^resolver .*$/m, '')
    .replace(line, servers)
}

async function endProcess(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const gone = once(child, 'exit')
  child.kill('SIGTERM')
  await gone
}

function reach(port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1', () => {
      socket.destroy()
      resolve()
    })
    socket.once('error', reject)
  })
}
