/** An MCP server on stdin and stdout with one tool: the population of a city. */
import { createInterface } from 'node:readline'

const TOOL = {
  name: 'population',
  description: 'People in a city',
  inputSchema: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
}

interface Message {
  id?: number
  method: string
  params?: { protocolVersion?: string; arguments?: { city?: string } }
}

function answer({ method, params }: Message): object {
  if (method === 'initialize') {
    const serverInfo = { name: 'cities', version: '1.0.0' }
    return { protocolVersion: params?.protocolVersion, capabilities: { tools: {} }, serverInfo }
  }
  if (method === 'tools/list') return { tools: [TOOL] }
  if (method === 'tools/call') {
    return { content: [{ type: 'text', text: `${params?.arguments?.city}: 652015` }] }
  }
  return {}
}

for await (const line of createInterface({ input: process.stdin })) {
  const message = JSON.parse(line) as Message
  if (message.id === undefined) continue
  process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', id: message.id, result: answer(message) })}\n`)
}
