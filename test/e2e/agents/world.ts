/**
 * The gateway, a scripted upstream behind one channel of each type, and folders in which an agent runs as a person
 * would run it. Agents recognise models by the prefix of the name, so each channel has several names.
 */
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type RunningGateway, startGateway, until } from '../../harness/gateway.ts'
import { endProgram, startProgram } from '../../harness/program.ts'
import { apiKey, channel, route } from '../../harness/resources.ts'
import { json, type ScriptedUpstream, startUpstream, type UpstreamCall } from '../../harness/upstream.ts'
import type { DialectName, ScriptedAnswer } from '../dialects/scripted-answer.ts'
import { answerEvents, dialectOf, scripted, stream } from '../dialects/scripted-upstream.ts'
import { type AgentName, agent } from './install.ts'

export type Json = Record<string, unknown>

export const KEY = 'sk-agents-0123456789'
/** Prefixes of model names; the name of a channel follows. */
const FAMILIES = ['', 'gpt-5.5-', 'gpt-6.1-sol-', 'claude-opus-5-'] as const
/** The upstream's token count for any request. */
const COUNTED = 4321
const AGENT_MS = 60_000
/** Instead of an answer: the conversation does not fit the model's context. */
export const TOO_LONG = 'too long'

export interface World {
  gateway: RunningGateway
  upstream: ScriptedUpstream
  /** Sets the upstream's next answers; further requests get a 500. Forgets earlier requests. */
  answerWith(...answers: (ScriptedAnswer | typeof TOO_LONG)[]): void
  /** Model requests since `answerWith`. */
  requests(): UpstreamRequest[]
  /** Resolves with the request log lines since `answerWith` once there are `count`. */
  logged(count: number): Promise<Json[]>
  close(): Promise<void>
}

export interface UpstreamRequest {
  dialect: DialectName
  headers: UpstreamCall['headers']
  body: Json
}

export async function startWorld(): Promise<World> {
  const upstream = await startUpstream()
  const gateway = await startGateway({ 'all.yaml': resources(upstream.baseURL) })
  let requests: UpstreamRequest[] = []
  /** Milliseconds since the epoch. Lines of requests that began earlier may still arrive; they are ignored. */
  let since = 0
  return {
    gateway,
    upstream,
    answerWith(...answers) {
      const left = [...answers]
      requests = []
      since = Date.now()
      upstream.answer((call, res) => {
        if (call.path.includes('count_tokens')) return json(res, 200, { input_tokens: COUNTED })
        const { headers } = call
        const dialect = dialectOf(call)
        requests.push({ dialect, headers, body: JSON.parse(call.body.toString()) as Json })
        const answer = left.shift()
        if (answer === undefined) return json(res, 500, { error: { message: 'no answer is left' } })
        if (answer === TOO_LONG) return json(res, 400, tooLong(dialect))
        if (dialect === 'responses' && call.body.includes('"type":"namespace"'))
          return stream(res, answerEvents(dialect, answer).map(inNamespace))
        return scripted(answer)(call, res)
      })
    },
    requests: () => requests,
    async logged(count) {
      const lines = () => gateway.requests().filter((line) => beganAt(line) >= since)
      await until(() => lines().length >= count, `${count} lines of the request log`)
      return lines()
    },
    async close() {
      await gateway.stop()
      await upstream.close()
    },
  }
}

/** Turns a call of `a__b` into one of tool b in namespace a. */
const inNamespace = (event: string) =>
  event.replaceAll(/"name":"(\w+)__(\w+)"/g, '"namespace":"$1","name":"$2"')

/** In the words of the hosted APIs. */
function tooLong(dialect: DialectName): object {
  const type = 'invalid_request_error'
  if (dialect === 'messages') {
    return { type: 'error', error: { type, message: 'prompt is too long: 130000 tokens > 128000 maximum' } }
  }
  const message =
    "This model's maximum context length is 128000 tokens. However, your messages resulted in 130000 tokens."
  return { error: { message, type, param: 'messages', code: 'context_length_exceeded' } }
}

/** `plain` is a responses upstream without optional features. */
const CHANNELS: Record<string, object> = {
  chat: { type: 'chat_completion' },
  responses: { type: 'responses' },
  plain: { type: 'responses', features: { compaction: false } },
  messages: { type: 'messages' },
}

function resources(base: string): string {
  return [
    apiKey('key', KEY),
    ...Object.entries(CHANNELS).map(([name, spec]) => {
      const url = name === 'messages' ? base.replace(/\/v1$/, '') : base
      return channel(name, url, { ...spec, ejection: { consecutiveFailures: 0 } })
    }),
    ...FAMILIES.flatMap((family) =>
      Object.keys(CHANNELS).map((name) => {
        const model = `${family}${name}`
        return route(model, model, [name], { retry: { attempts: 1 } })
      }),
    ),
  ].join('')
}

/** The agent's home and working folder. */
export interface Workspace {
  home: string
  work: string
  /** Resolves when the agent has exited. It can reach nothing beyond this machine. */
  run(name: AgentName, args: string[], env: Record<string, string>): Promise<Run>
  /** Replaces text in a file of the home. Throws if the text is missing. */
  edit(path: string, from: string, to: string): void
  clear(): void
}

export interface Run {
  code: number | string
  /** stdout and stderr. */
  output: string
  /** The JSON lines of the output. */
  events: Json[]
}

export function createWorkspace(): Workspace {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-agent-'))
  const [home, work, temp] = ['home', 'work', 'temp'].map((name) => join(folder, name)) as [
    string,
    string,
    string,
  ]
  for (const each of [home, work, temp]) mkdirSync(each)
  return {
    home,
    work,
    async run(name, args, env) {
      const nowhere = 'http://127.0.0.1:9'
      const program = startProgram(agent(name), args, {
        cwd: work,
        env: {
          HOME: home,
          TMPDIR: temp,
          HTTP_PROXY: nowhere,
          HTTPS_PROXY: nowhere,
          NO_PROXY: '127.0.0.1,localhost',
          ...env,
        },
      })
      const clock = setTimeout(() => void endProgram(program), AGENT_MS)
      try {
        const code = await program.exited
        return { code, output: program.output(), events: jsonLines(program.output()) }
      } finally {
        clearTimeout(clock)
        await endProgram(program)
      }
    },
    edit(path, from, to) {
      const file = join(home, path)
      const text = readFileSync(file, 'utf8')
      if (!text.includes(from)) throw new Error(`${file} does not have ${from}`)
      writeFileSync(file, text.replace(from, to))
    },
    clear: () => rmSync(folder, { recursive: true, force: true }),
  }
}

/** The end of the output, for the message of a failed assertion. */
export const outputTail = ({ output }: Run): string => output.slice(-2000)

function jsonLines(output: string): Json[] {
  return output.split('\n').flatMap((line) => {
    try {
      return line.startsWith('{') ? [JSON.parse(line) as Json] : []
    } catch {
      return []
    }
  })
}

function beganAt({ time, ms }: Record<string, unknown>): number {
  return Date.parse(String(time)) - (ms as { total: number }).total
}
