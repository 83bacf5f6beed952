/** Fields besides the messages that clients of this dialect send. */
import { CACHE, type Legal, TOOL, testCompleteness } from './decode-testing.ts'

const LEGAL: Legal[] = [
  ['a plain text', {}, []],
  ['a stream', { stream: true }, []],
  [
    'explicit defaults',
    { stream: false, speed: 'standard', stop_sequences: [], tools: [], metadata: {}, output_config: {} },
    [],
  ],
  [
    'explicit nulls',
    {
      system: null,
      tools: null,
      thinking: null,
      metadata: { user_id: null },
      output_config: { effort: null, format: null },
      service_tier: null,
      new_field: null,
      temperature: null,
    },
    [],
  ],
  ['sampling and stops', { temperature: 0.5, top_p: 0.9, top_k: 5, stop_sequences: ['END', ' '] }, []],
  [
    'tools of every kind',
    {
      tools: [
        { ...TOOL, description: 'd', strict: false, type: 'custom', defer_loading: true, ...CACHE },
        {
          name: 'u',
          input_schema: { type: 'object', properties: {} },
          strict: true,
          type: null,
          input_examples: [{}],
        },
        {
          type: 'web_search_20250305',
          name: 'web_search',
          allowed_domains: ['a.b'],
          max_uses: 3,
          blocked_domains: null,
          user_location: { type: 'approximate', city: 'Rome', region: null },
        },
        { type: 'bash_20250124', name: 'bash', cache_control: null },
        { name: 'DeferredToolPlaceholder', input_schema: { type: 'object' }, defer_loading: true },
      ],
    },
    ['tools.defer_loading', 'tools.input_examples', 'tools.max_uses'],
  ],
  [
    'one call at a time',
    { tools: [TOOL], tool_choice: { type: 'auto', disable_parallel_tool_use: true } },
    [],
  ],
  ['any tool', { tools: [TOOL], tool_choice: { type: 'any', disable_parallel_tool_use: false } }, []],
  ['one tool', { tools: [TOOL], tool_choice: { type: 'tool', name: 't', new: 1 } }, ['tool_choice.new']],
  ['no tool', { tools: [TOOL], tool_choice: { type: 'none' } }, []],
  [
    'a forced hosted tool',
    { tools: [{ type: 'bash_20250124', name: 'bash' }], tool_choice: { type: 'tool', name: 'bash' } },
    [],
  ],
  [
    'adaptive thinking',
    { thinking: { type: 'adaptive', display: 'omitted' }, output_config: { effort: 'xhigh' } },
    [],
  ],
  [
    'a budget',
    { thinking: { type: 'enabled', budget_tokens: 2048, display: 'summarized', new: 1 } },
    ['thinking.new'],
  ],
  [
    'no thinking',
    { thinking: { type: 'disabled' }, output_config: { effort: 'max', task_budget: { total: 1 } } },
    ['output_config.task_budget'],
  ],
  ['thinking between tools', { thinking: { type: 'between_tools' } }, ['thinking']],
  [
    'a schema',
    { output_config: { format: { type: 'json_schema', schema: { type: 'object', minimum: 1 }, name: 'x' } } },
    ['output_config.format.name'],
  ],
  [
    'a schema in its old field',
    { output_format: { type: 'json_schema', schema: { type: 'object' } }, output_config: { effort: 'low' } },
    [],
  ],
  ['tiers', { service_tier: 'standard_only', metadata: { user_id: 'u', team: 1 } }, ['metadata.team']],
  ['speed with a tier', { service_tier: 'auto', speed: 'fast' }, []],
  ['unknown tiers', { service_tier: 'gold', speed: 'warp' }, ['service_tier', 'speed']],
  [
    'fields that only this vendor has',
    {
      cache_control: { type: 'ephemeral' },
      context_management: { edits: [] },
      container: 'c',
      mcp_servers: [{ a: 1 }],
      inference_geo: 'eu',
      x: { y: 1 },
    },
    ['cache_control', 'container', 'context_management', 'inference_geo', 'mcp_servers', 'x'],
  ],
]

testCompleteness(LEGAL)
