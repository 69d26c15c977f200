import { type Approvals, ask, isText, type Outcome, type Patience, type Question, resume } from './ask.ts'
import { Invalid } from './errors.ts'
import { type GuardOptions, guard, type ToolOptions } from './guard.ts'
import type { Operations } from './rest.ts'
import { now, send } from './send.ts'

export interface ClientOptions {
  /** The service's address, with its path if it has one. Undefined, as a variable that is not set, is refused. */
  url: string | undefined
  /** An API key (`sa_…`). As `url`. */
  key: string | undefined
  /** Let the sandbox's decisions count. For tests only; default false. */
  allowSandbox?: boolean | undefined
  /** Your own, for a proxy or certificates. */
  fetch?: typeof fetch | undefined
  /** How long a call is repeated while the service is away; 300. */
  unreachableAfterSeconds?: number | undefined
  /** Hears why a call is repeated, and in how many seconds. */
  onRetry?: ((why: string, seconds: number) => void) | undefined
}

/** What `call` takes besides the operation's own input. */
export interface CallOptions extends Patience {
  /** Makes a call that changes something repeatable, where the operation has it. */
  idempotencyKey?: string | undefined
  headers?: Record<string, string> | undefined
}

export interface Client {
  /**
   * Asks a person and waits for the outcome. Two asks of the same run, call, action and context are one request, also after a
   * crash.
   */
  ask(question: Question): Promise<Outcome>
  /** Waits for a request made earlier, by the `resume` of a pending outcome or by its id. */
  resume(handle: string, patience?: Patience): Promise<Outcome>
  /** Wraps a function so that it runs only after a person approved exactly these arguments, once. */
  guard<Args extends unknown[], Result>(
    run: (...args: Args) => Result | Promise<Result>,
    options: GuardOptions<Args>,
  ): (...args: Args) => Promise<Result>
  /** The same for the tool of a model's host: `execute(input, …whatever the host passes)`. */
  tool<Input, Host extends unknown[], Result>(
    name: string,
    execute: (input: Input, ...host: Host) => Result | Promise<Result>,
    options: ToolOptions<Input, Host>,
  ): (input: Input, ...host: Host) => Promise<Result>
  /** Any other call of the service, by method and path as in its reference. */
  call<Name extends keyof Operations>(
    operation: Name,
    input: Operations[Name]['input'],
    options?: CallOptions,
  ): Promise<Operations[Name]['answer']>
}

/** Opens no connection. @throws Invalid for an address or a key that cannot be one */
export function countersign(options: ClientOptions): Client {
  const peer = readPeer(options)
  return {
    ask: (question) => ask(peer, question),
    resume: (handle, patience) => resume(peer, handle, patience),
    guard: (run, options) => guard(peer, run, options),
    tool: (name, execute, options) => guard(peer, execute, options, name),
    call: async (operation, input, { idempotencyKey, headers, signal, withinSeconds = 60 } = {}) => {
      const { path = {}, query = {}, body }: Parts = input
      const [method = '', template = ''] = operation.split(' ')
      const filled = template.replace(/\{(\w+)\}/g, (_, name: string) =>
        encodeURIComponent(String(path[name])),
      )
      // As texts, and without what is undefined.
      const search = String(new URLSearchParams(JSON.parse(JSON.stringify(query))))
      const answer: unknown = await send(
        peer,
        { end: now() + withinSeconds * 1000, signal },
        {
          method,
          path: filled + (search && `?${search}`),
          body,
          once: idempotencyKey,
          headers,
          timeout: 75_000,
        },
      )
      // The document of the service is what it answers by: its own tests hold every answer to it.
      return answer as never
    },
  }
}

interface Parts {
  path?: Record<string, unknown>
  query?: Record<string, unknown>
  body?: unknown
}

/** Checks the options. @throws Invalid */
export function readPeer(options: ClientOptions): Approvals {
  const { url, key, allowSandbox = false, unreachableAfterSeconds = 300, onRetry = () => {} } = options
  // A key with other characters cannot stand in a header, and the error of `fetch` would repeat it.
  if (!isText(url) || !/^https?:\/\/[^\s?#@]+$/.test(url) || !isText(key) || !/^[\x21-\x7e]+$/.test(key))
    throw new Invalid('the client needs `url`, like https://approvals.example.com, and `key`, an API key.')
  return {
    url: url.replace(/\/+$/, ''),
    key,
    allowSandbox: allowSandbox === true,
    // Some platforms refuse a `fetch` that is called as a method of another object.
    fetch: options.fetch ?? ((...args) => fetch(...args)),
    patience: unreachableAfterSeconds * 1000,
    onRetry,
  }
}
