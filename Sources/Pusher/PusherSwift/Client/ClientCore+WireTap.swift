import CurlTransport
import Foundation
import PusherProtocol
import Realtime
import Transport

/// Passes wire messages to ``PusherClientOptions/wireTap``.
extension ClientCore {
    typealias WireTap = @Sendable (PusherWireMessage) -> Void

    /// Passes on the text messages: no others belong to the protocol.
    @NetworkActor
    func show(_ messages: WebSocketMessages, to tap: @escaping WireTap) {
        let texts = messages.compactMap { message in
            if case .text(let bytes) = message { bytes } else { nil }
        }
        show(texts, .incoming, to: tap)
    }

    @NetworkActor
    func show(_ text: String, to tap: @escaping WireTap) {
        show([Array(text.utf8)[...]], .outgoing, to: tap)
    }

    /// Decodes and redacts the texts on the callback queue, since the I/O thread has other clients to serve.
    @NetworkActor
    private func show(_ texts: [ArraySlice<UInt8>], _ direction: PusherWireMessage.Direction, to tap: @escaping WireTap)
    {
        guard !texts.isEmpty else { return }
        let (time, blanks) = (Date(), SecretBlanks(key: key))
        let load = CallbackLoad(count: texts.count, byteCount: texts.reduce(0) { $0 + $1.count })
        runCallback(load: load) {
            for text in texts {
                let shown = blanks.blanked(String(decoding: text, as: UTF8.self))
                tap(PusherWireMessage(direction: direction, time: time, text: shown))
            }
        }
    }
}
