// The other processes of ../webhooks.mjs: a service that counts its store commands, and a plain loop of posts.
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { Agent, request } from 'node:http'
import { fileURLToPath } from 'node:url'
import { startWork } from '../../dist/src/compose/start-work.js'
import { readConfig } from '../../dist/src/config/config.js'
import { serve } from '../../dist/src/serve.js'

const self = fileURLToPath(import.meta.url)
const roles = { service: runService, plain: runPlain }
if (process.argv[1] === self) {
  process.once('disconnect', () => process.exit(1))
  await roles[process.argv[2]]()
}

/** A service in a process of its own, which takes up no work before it is told. */
export async function startService(env) {
  const child = fork(self, ['service'], { env: { PATH: process.env.PATH, ...env } })
  const [{ port }] = await once(child, 'message')
  const ask = async (what) => {
    child.send(what)
    return (await once(child, 'message'))[0]
  }
  return {
    port,
    work: () => ask('work'),
    /** Takes up nothing more until it is told to work again. */
    rest: () => ask('rest'),
    /** Store commands since the work began, by name and collection, and milliseconds of processor time. */
    spent: () => ask('spent'),
    async stop() {
      child.send('stop')
      if (child.exitCode === null) await once(child, 'exit')
    },
  }
}

/** Posts `count` messages to these addresses, at most four at once to each. */
export async function postPlainly(job) {
  const child = fork(self, ['plain'], { env: { PATH: process.env.PATH } })
  child.send(job)
  await once(child, 'exit')
}

async function runService() {
  const config = readConfig(process.env)
  const told = (fields, message) => console.error(message, fields.error ?? '')
  const log = { debug() {}, info() {}, warn: told, error: told }
  const service = await serve(config, { log, work: false })
  let commands = {}
  let start = process.cpuUsage()
  let work
  service.composition.connection.getClient().on('commandStarted', ({ commandName, command }) => {
    const name = `${commandName} ${command[commandName]}`
    commands[name] = (commands[name] ?? 0) + 1
  })
  process.on('message', async (what) => {
    if (what === 'spent') return process.send({ commands, cpu: cpuSince(start) })
    if (what === 'work') {
      commands = {}
      start = process.cpuUsage()
      const starting = startWork(config, service.composition)
      process.send('working')
      work = await starting
      return
    }
    if (what === 'rest') {
      await work?.stop()
      work = undefined
      return process.send('resting')
    }
    await work?.stop()
    await service.close()
    process.exit(0)
  })
  process.send({ port: service.port })
}

function cpuSince(start) {
  const { user, system } = process.cpuUsage(start)
  return (user + system) / 1000
}

async function runPlain() {
  const [{ urls, count, headers, body, keepAlive }] = await once(process, 'message')
  const agent = new Agent({ keepAlive, maxSockets: 4 })
  let next = 0
  const worker = async (url) => {
    while (next < count) {
      next += 1
      if (keepAlive) await (await fetch(url, { method: 'POST', headers, body })).arrayBuffer()
      else await post(url, { agent, headers, body })
    }
  }
  await Promise.all(urls.flatMap((url) => Array.from({ length: 4 }, () => worker(url))))
  process.exit(0)
}

function post(url, { agent, headers, body }) {
  return new Promise((resolve, reject) => {
    const call = request(url, { method: 'POST', agent, headers }, (response) => {
      response.resume()
      response.on('end', resolve)
    })
    call.on('error', reject)
    call.end(body)
  })
}
