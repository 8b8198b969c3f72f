import Dispatch
import Foundation

/// Ctrl-C and a polite kill end a command cleanly; a second one ends it at once.
final class SignalWatch {
    private let sources: [any DispatchSourceSignal]

    init(_ onSignal: @escaping @Sendable () -> Void) {
        sources = [SIGINT, SIGTERM].map { number in
            signal(number, SIG_IGN)  // else the default action comes before the source
            let source = DispatchSource.makeSignalSource(signal: number)
            source.setEventHandler {
                signal(number, SIG_DFL)
                onSignal()
            }
            source.resume()
            return source
        }
    }

    func cancel() {
        for source in sources { source.cancel() }
    }

    /// Returns at the first signal. `ready` is called once signals are awaited, and false from it returns at once.
    static func wait(ready: () -> Bool) async {
        let (signals, continuation) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        let watch = SignalWatch { continuation.yield() }
        if ready() {
            for await _ in signals { break }
        }
        watch.cancel()
    }
}
