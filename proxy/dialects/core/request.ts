/** A client's request as its dialect parses it, and the bounds on its body. */
import type { ImageKind, InputSize } from '../../../contract/sizes.ts'
import type { HostedTool } from '../../../contract/usage.ts'
import type { BodyValue } from './json/body-value.ts'
import type { ScannedBody } from './json/scanned-body.ts'

/** The fields of a request that the gateway needs to route it and to hold money for it. */
export interface RequestHead {
  model: string
  stream: boolean
  /** The client's own limit on output tokens, if any; 0 where an answer has no tokens. */
  maxOutputTokens?: number | undefined
  /** Number of images in the answer. */
  images?: number | undefined
  /** How the client wants them; also for a text endpoint with a tool that makes images. */
  imageKind?: ImageKind | undefined
  /** The client's key for prompt caches: requests with the same key share one. */
  cacheKey?: string | undefined
  /** Number of requested answers (`n`); each may use the whole output limit. */
  choices: number
  /** Requested service tier, such as `priority`; `fast` for a request for speed. */
  tier?: string | undefined
  /** Tools that the upstream runs itself and bills per call. */
  hostedTools?: readonly RequestedTool[] | undefined
  /** True when the client itself requested usage in the stream. */
  wantsStreamUsage: boolean
  input: InputSize
}

interface RequestedTool {
  tool: HostedTool
  /** The field that requests it. */
  field: string
  /** Calls for each request that upstreams of this dialect make and do not report. */
  unreportedCalls?: number
  /** The client's own limit on calls. */
  mostCalls?: number
}

/** Bounds on a JSON body, checked before it is parsed if that could take long. */
export interface JsonLimits {
  maxDepth: number
  /** Object keys in the whole body. */
  maxKeys: number
  /** Elements and members in the whole body; absent: no limit. */
  maxValues?: number
  /** Bounds on a form instead of JSON; absent: forms are refused. */
  form?: FormLimits
  /** The request only prepares a conversation, and may have no input. */
  mayBeEmpty?: boolean
  /** A body that passed these bounds while it arrived: it is not scanned again. */
  scanned?: ScannedBody
}

/** Bounds on a form (multipart/form-data). */
export interface FormLimits {
  maxParts: number
  maxFiles: number
  /** Of one file. */
  maxFileBytes: number
  /** Of one text field. */
  maxFieldBytes: number
}

/** A request body that passed the checks of its dialect. `Own`: see `own`. */
export interface ParsedRequest<Own = unknown> {
  head: RequestHead
  /** The bytes that the client sent; never changed. */
  body: Buffer
  /** The body as JSON; absent for a form. */
  value?: BodyValue
  /** Facts that the dialect found in the body. Only functions of the same descriptor can read them. */
  own: Own
  /** Of the body; absent: application/json. */
  contentType?: string
  /** The body is only the beginning of the request: see ParsedUpload. */
  isUpload?: true
  /** The client requests a compacted conversation, which not every upstream of its API can make. */
  compacts?: true
  /** Client headers that mean something in the dialect, such as a version; names in lower case. */
  headers: Record<string, string>
  /** The body contains vendor state that the gateway sealed. Absent: not searched yet. */
  sealed?: boolean
}

/** A request that is too large to hold in memory. */
export interface ParsedUpload<Own = unknown> {
  request: ParsedRequest<Own>
  /** Received bytes to send after the spliced body. */
  first: Buffer[]
  rest: BodyRest
}

/** Converts the rest of a request's bytes for the upstream, as they arrive. */
export interface BodyRest {
  /** Throws GatewayError for invalid bytes. */
  push(chunk: Buffer): Buffer[]
  /** Called after the last byte. Throws GatewayError for an incomplete request; once it returns, the request is valid. */
  end(): Buffer[]
}
