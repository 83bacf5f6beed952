/** Requests that an HTTP proxy passes on: with the whole address as their target (RFC 9112, section 3.2.2). */
import type { IncomingHttpHeaders as Headers } from 'node:http'
import type { Dispatcher } from 'undici'
import { ProxyFailed } from './failure.ts'
import type { HttpProxy } from './proxies.ts'

/** Makes a request to an upstream one to the proxy, whose pool this is put around. */
export function forwardedBy({ origin, headers: own }: HttpProxy): Dispatcher.DispatcherComposeInterceptor {
  return (dispatch) => (options, handler) => {
    const headers = { ...options.headers, ...own, host: new URL(String(options.origin)).host }
    const path = `${options.origin}${options.path}`
    return dispatch({ ...options, origin: origin.origin, path, headers }, new FromProxy(handler))
  }
}

/** An answer of the upstream as it is; a proxy that wants other credentials is a failure of the connection. */
class FromProxy implements Dispatcher.DispatchHandler {
  readonly #handler: Dispatcher.DispatchHandler

  constructor(handler: Dispatcher.DispatchHandler) {
    this.#handler = handler
  }

  onRequestStart(controller: Dispatcher.DispatchController, context: unknown): void {
    this.#handler.onRequestStart?.(controller, context)
  }

  onBodySent(chunk: Buffer): void {
    this.#handler.onBodySent?.(chunk)
  }

  onResponseStart(controller: Dispatcher.DispatchController, status: number, headers: Headers): void {
    // Only a proxy asks for authentication like this (RFC 9110, section 15.5.8).
    if (status === 407) controller.abort(new ProxyFailed('the proxy answered 407'))
    else this.#handler.onResponseStart?.(controller, status, headers)
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    this.#handler.onResponseData?.(controller, chunk)
  }

  onResponseEnd(controller: Dispatcher.DispatchController, trailers: Headers): void {
    this.#handler.onResponseEnd?.(controller, trailers)
  }

  onResponseError(controller: Dispatcher.DispatchController, error: Error): void {
    this.#handler.onResponseError?.(controller, error)
  }
}
