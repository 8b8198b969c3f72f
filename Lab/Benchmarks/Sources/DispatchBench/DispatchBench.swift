// CPU time from the first to the last event, of all threads.
//
//     DispatchBench port N events N [name value]…
//
//     kind       untouched, text, or struct: what is done with an event's data
//     delivery   callback, inline (on the I/O thread), or sequence (for await)
//     channels   number of channels to subscribe to: c0, c1 …
//     bindings   number of further bindings, spread over the channels, for events that never come
//     encrypted  yes: private-encrypted-c0 …
//     ca-file    certificates to trust; enables TLS
import Foundation
import Measuring
import PusherSwift

/// The type that `kind struct` decodes.
private struct Tick: Decodable {
    var v: Double
    var symbol: String?
}

private enum Kind: String {
    case untouched, text, `struct`
}

/// Receives one event after the other, from one thread at a time.
private final class Meter: @unchecked Sendable {
    private let kind: Kind
    private let expected: Int
    private let decoder = JSONDecoder()
    private var events = 0
    private var start = 0.0
    private var used = 0.0

    init(kind: Kind, expected: Int) {
        self.kind = kind
        self.expected = expected
    }

    func count(_ event: PusherEvent) {
        if events == 0 { start = cpuSeconds() }
        events += 1
        switch kind {
        case .untouched: break
        case .text: used += Double(event.data?.utf8.count ?? 0)
        case .struct: used += (try? event.decode(Tick.self).v) ?? 0
        }
        if events == expected { report(last: event) }
    }

    private func report(last event: PusherEvent) {
        var figures = ["events": Double(events), "cpu_seconds": cpuSeconds() - start, "used": used]
        if kind == .struct {
            let data = Data((event.data ?? "").utf8)
            // Alternates, and takes the minimum of several runs, so that other load affects both alike.
            for _ in 0..<5 {
                lower("decoder_cpu_seconds", in: &figures) { (try? decoder.decode(Tick.self, from: data).v) ?? 0 }
                lower("event_decode_cpu_seconds", in: &figures) { (try? event.decode(Tick.self).v) ?? 0 }
            }
        }
        finish(figures)
    }

    /// Lowers a figure to the CPU time of decoding this many events alone.
    private func lower(_ name: String, in figures: inout [String: Double], _ decode: () -> Double) {
        let start = cpuSeconds()
        for _ in 0..<expected / 5 { used += decode() }
        figures[name] = min((cpuSeconds() - start) * 5, figures[name] ?? .infinity)
    }
}

@main
struct DispatchBench {
    static func main() async throws {
        let arguments = Arguments()
        let prefix = arguments["encrypted"] == "yes" ? "private-encrypted-c" : "c"
        var options = arguments.options
        options.authMethod = .inline(secret: "app-secret")
        options.encryptionMasterKey = Data("the 32 bytes of our master key..".utf8).base64EncodedString()
        guard let kind = Kind(rawValue: arguments["kind"] ?? "untouched") else { exit(64) }
        let meter = Meter(kind: kind, expected: arguments.number("events"))

        let pusher = Pusher(key: "app-key", options: options)
        let channels = (0..<arguments.number("channels", default: 1)).map { pusher.subscribe("\(prefix)\($0)") }
        for index in 0..<arguments.number("bindings", default: 0) {
            channels[index % channels.count].bind(eventName: "other-\(index)") { _ in }
        }
        if arguments["delivery"] == "sequence" {
            let events = channels[0].events("tick")
            pusher.connect()
            for await event in events { meter.count(event) }
        } else {
            for channel in channels { channel.bind(eventName: "tick", eventCallback: meter.count) }
            pusher.connect()
            try await Task.sleep(for: .seconds(300))
        }
        exit(75)
    }
}
