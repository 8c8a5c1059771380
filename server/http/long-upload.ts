// Uploads may take longer than other requests, as long as bytes keep arriving.
import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'

const upload = Symbol('the upload that a connection receives')
type UploadingSocket = Socket & { [upload]?: IncomingMessage }

/** Milliseconds without new bytes after which an upload ends. */
const longestSilence = 60_000

/**
 * Exempts a request from `server-request-timeout`. To be called once it is known that the caller may upload.
 *
 * @returns to be called when the body has arrived
 */
export function allowLongUpload(request: IncomingMessage, silence = longestSilence): () => void {
  const socket = request.socket as UploadingSocket
  socket[upload] = request
  // Without a listener, Node closes the connection.
  socket.setTimeout(silence)
  return () => {
    socket.setTimeout(0)
    delete socket[upload]
  }
}

/** Whether a connection receives such a request. */
export function receivesLongUpload(socket: Socket): boolean {
  const request = (socket as UploadingSocket)[upload]
  return request !== undefined && !request.complete
}
