/**
 * Planted one-line faults, each with the test that must notice. A fault that no test notices reveals an untested rule.
 * The harm is named above each fault.
 */
import type { Mutant } from './fault.ts'
import { BENCH } from './rooms/bench.ts'
import { CHARTS } from './rooms/charts.ts'
import { CONTRACT } from './rooms/contract.ts'
import { CONTROLLER } from './rooms/controller.ts'
import { CONVERSATIONS } from './rooms/conversations.ts'
import { CHAINS } from './rooms/dialects/chains.ts'
import { CHAT } from './rooms/dialects/chat.ts'
import { ERRORS } from './rooms/dialects/errors.ts'
import { HUB } from './rooms/dialects/hub.ts'
import { IMAGE_FAULTS } from './rooms/dialects/images.ts'
import { MESSAGES } from './rooms/dialects/messages.ts'
import { PITFALLS } from './rooms/dialects/pitfalls.ts'
import { PITFALLS_OF_ENDPOINTS } from './rooms/dialects/pitfalls-endpoints.ts'
import { RESPONSES } from './rooms/dialects/responses.ts'
import { HTTP } from './rooms/http.ts'
import { KEYS } from './rooms/keys.ts'
import { LOAD } from './rooms/load.ts'
import { OPENAPI } from './rooms/openapi.ts'
import { OUTBOUND_WAYS } from './rooms/outbound.ts'
import { PARSERS } from './rooms/parsers.ts'
import { PIPELINE } from './rooms/pipeline.ts'
import { PROXY } from './rooms/proxy.ts'
import { RELAY } from './rooms/relay.ts'
import { RELAY_ADDRESS } from './rooms/relay-address.ts'
import { RELAY_E2E } from './rooms/relay-e2e.ts'
import { SOCKETS } from './rooms/sockets.ts'
import { STORE } from './rooms/store.ts'
import { TOOLS } from './rooms/tools.ts'
import { WORKERS_FAULTS } from './rooms/workers.ts'

export const MUTANTS: Mutant[] = [
  ...CONTRACT,
  ...STORE,
  ...CONTROLLER,
  ...PROXY,
  ...WORKERS_FAULTS,
  ...HTTP,
  ...KEYS,
  ...RELAY_ADDRESS,
  ...RELAY,
  ...RELAY_E2E,
  ...LOAD,
  ...PIPELINE,
  ...PARSERS,
  ...OUTBOUND_WAYS,
  ...ERRORS,
  ...HUB,
  ...CHAT,
  ...RESPONSES,
  ...MESSAGES,
  ...PITFALLS,
  ...CONVERSATIONS,
  ...SOCKETS,
  ...CHAINS,
  ...IMAGE_FAULTS,
  ...PITFALLS_OF_ENDPOINTS,
  ...TOOLS,
  ...OPENAPI,
  ...BENCH,
  ...CHARTS,
]
