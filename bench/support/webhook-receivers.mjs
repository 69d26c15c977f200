// Receivers on 127.0.0.1, 127.0.0.2 …, each a host of its own to the sender's limit per host. They run in the bench's process.
import { createServer } from 'node:http'

/** Starts `count` of them. `tune` says how long each takes to answer, and what; `arrivals` is emptied by `reset`. */
export async function startReceivers(count) {
  const state = { arrivals: [], open: 0, peak: 0, delay: 0, choose: () => 200, heard: () => undefined }
  const servers = []
  for (let index = 1; index <= count; index += 1) servers.push(await listen(`127.0.0.${index}`, state))
  return {
    url: (turn, path) => `http://${servers[turn].address().address}:${servers[turn].address().port}${path}`,
    get arrivals() {
      return state.arrivals
    },
    get peak() {
      return state.peak
    },
    reset: ({ delay = 0, choose = () => 200 } = {}) =>
      Object.assign(state, { arrivals: [], peak: 0, delay, choose }),
    /** Resolves once the condition holds; it is looked at after each arrival. Rejects after a minute. */
    until(condition) {
      return new Promise((resolve, reject) => {
        const late = setTimeout(
          () => reject(new Error('the deliveries did not arrive within a minute')),
          60_000,
        )
        state.heard = () => {
          if (!condition()) return
          clearTimeout(late)
          state.heard = () => undefined
          resolve()
        }
        state.heard()
      })
    },
    close: () =>
      Promise.all(servers.map((server) => new Promise((done) => server.close(done).closeAllConnections()))),
  }
}

function listen(host, state) {
  const server = createServer((request, response) => {
    // The first byte, as far as a program can tell: the headers are parsed, the body is not read.
    const at = Date.now()
    state.open += 1
    state.peak = Math.max(state.peak, state.open)
    const chunks = []
    request.on('data', (chunk) => chunks.push(chunk))
    request.on('end', () => {
      const arrival = {
        at,
        path: request.url,
        headers: request.headers,
        body: Buffer.concat(chunks).toString(),
      }
      state.arrivals.push(arrival)
      const answer = () => {
        state.open -= 1
        response.writeHead(state.choose(arrival)).end()
      }
      if (state.delay === 0) answer()
      else setTimeout(answer, state.delay)
      state.heard()
    })
  })
  return new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen(0, host, () => resolve(server))
  })
}
