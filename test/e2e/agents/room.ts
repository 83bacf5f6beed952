/**
 * The room of these tests: the gateway, a scripted upstream behind one channel of each type, and folders in which an
 * agent runs as a person would run it. Agents know models by their names' beginnings, so each channel has several.
 */
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type RunningGateway, startGateway, until } from '../../harness/gateway.ts'
import { endProgram, startProgram } from '../../harness/program.ts'
import { apiKey, channel, route } from '../../harness/resources.ts'
import { json, type ScriptedUpstream, startUpstream, type UpstreamCall } from '../../harness/upstream.ts'
import type { DialectName, Story } from '../dialects/story.ts'
import { dialectOf, storyEvents, stream, tells } from '../dialects/tell.ts'
import { type AgentName, agent } from './install.ts'

export type Json = Record<string, unknown>

export const KEY = 'sk-agents-0123456789'
/** Each model is one of these with the name of a channel behind it. */
const FAMILIES = ['', 'gpt-5.5-', 'gpt-6.1-sol-', 'claude-opus-5-'] as const
/** What the upstream counts, whatever it is asked about. */
const COUNTED = 4321
const AGENT_MS = 60_000
/** In place of a story: the conversation does not fit into the model's context. */
export const TOO_LONG = 'too long'

export interface Room {
  gateway: RunningGateway
  upstream: ScriptedUpstream
  /** The nth answer is the nth story; a further one is an error of the upstream. Forgets what was asked before. */
  plays(...stories: (Story | typeof TOO_LONG)[]): void
  /** What the model was asked since then. */
  asked(): Asked[]
  /** Lines of the request log since then, once there are so many. */
  logged(count: number): Promise<Json[]>
  close(): Promise<void>
}

export interface Asked {
  dialect: DialectName
  headers: UpstreamCall['headers']
  body: Json
}

export async function openRoom(): Promise<Room> {
  const upstream = await startUpstream()
  const gateway = await startGateway({ 'all.yaml': resources(upstream.baseURL) })
  let asked: Asked[] = []
  /** Since when lines count, in milliseconds since the epoch: one of an earlier play may come late. */
  let since = 0
  return {
    gateway,
    upstream,
    plays(...stories) {
      const left = [...stories]
      asked = []
      since = Date.now()
      upstream.answer((call, res) => {
        if (call.path.includes('count_tokens')) return json(res, 200, { input_tokens: COUNTED })
        const { headers } = call
        const dialect = dialectOf(call)
        asked.push({ dialect, headers, body: JSON.parse(call.body.toString()) as Json })
        const story = left.shift()
        if (story === undefined) return json(res, 500, { error: { message: 'nothing more is told' } })
        if (story === TOO_LONG) return json(res, 400, tooLong(dialect))
        if (dialect === 'responses' && call.body.includes('"type":"namespace"'))
          return stream(res, storyEvents(dialect, story).map(inNamespace))
        return tells(story)(call, res)
      })
    },
    asked: () => asked,
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

/** Where tools are declared in namespaces they are called so: `a__b` is b in a. */
const inNamespace = (event: string) =>
  event.replaceAll(/"name":"(\w+)__(\w+)"/g, '"namespace":"$1","name":"$2"')

/** As the hosted APIs say it. */
function tooLong(dialect: DialectName): object {
  const type = 'invalid_request_error'
  if (dialect === 'messages') {
    return { type: 'error', error: { type, message: 'prompt is too long: 130000 tokens > 128000 maximum' } }
  }
  const message =
    "This model's maximum context length is 128000 tokens. However, your messages resulted in 130000 tokens."
  return { error: { message, type, param: 'messages', code: 'context_length_exceeded' } }
}

/** `plain` is an upstream of the responses API that offers no more than that. */
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

/** A home of its own, and a folder to work in. */
export interface Desk {
  home: string
  work: string
  /** Gives what was printed, once the agent has ended. It can reach nothing beyond this machine. */
  run(name: AgentName, args: string[], env: Record<string, string>): Promise<Run>
  /** Changes a file of the home. Throws when it does not have the text. */
  edit(path: string, from: string, to: string): void
  clear(): void
}

export interface Run {
  code: number | string
  /** Both streams. */
  output: string
  /** The lines of it that are JSON. */
  events: Json[]
}

export function openDesk(): Desk {
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

/** The end of what was printed: why a test fails. */
export const why = ({ output }: Run): string => output.slice(-2000)

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
