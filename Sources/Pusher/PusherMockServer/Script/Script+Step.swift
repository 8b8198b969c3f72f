extension PusherMockServer.Script {
    struct Step: Hashable {
        enum Trigger: Hashable {
            case start
            case connection
            /// A subscription to this channel, or to any channel if `nil`.
            case subscription(channel: String?)
        }

        enum Action: Hashable {
            case strike(PusherMockServer.ConnectionFault)
            /// Publish an event. If a subscription triggers the step, `nil` means its channel.
            case publish(event: String, data: String, channel: String?)
            case refuse(PusherMockServer.HandshakeFault)
            case failAuth(PusherMockServer.AuthFault)
            case clearFaults
        }

        var trigger: Trigger
        var delay: Duration
        /// The maximum number of times; `nil` means no limit.
        var times: Int?
        var action: Action

        init(_ object: JSONObject) throws(StepReader.Malformed) {
            var reader = StepReader(object)
            guard let name = try reader.string("do") else { throw .init(message: "it has no “do”") }
            let channel = try reader.string("channel")
            delay = try reader.seconds("after") ?? .zero
            times = try reader.integer("times", in: 1...Int.max)
            let on = try reader.string("on")
            switch on {
            case nil: trigger = .start
            case "connection": trigger = .connection
            case "subscribe": trigger = .subscription(channel: channel)
            case let other?: throw .init(message: "“on” is connection or subscribe, not “\(other.prefix(50))”")
            }
            action = try Self.action(name, channel: channel, reader: &reader)
            try check(name, channel: channel)
            try reader.finish()
        }

        private static func action(
            _ name: String, channel: String?, reader: inout StepReader
        ) throws(StepReader.Malformed) -> Action {
            switch name {
            case "close":
                let code = try reader.integer("code", in: 1000...4999)
                return .strike(.close(code: code, reason: try reader.string("reason") ?? ""))
            case "drop": return .strike(.dropTCP)
            case "reset": return .strike(.resetTCP)
            case "silent": return .strike(.goSilent)
            case "ignore-pings": return .strike(.ignorePings)
            case "garbage": return .strike(.text(try reader.string("text") ?? "{nonsense"))
            case "publish":
                guard let event = try reader.string("event") else { throw .init(message: "publish needs an “event”") }
                return .publish(event: event, data: try reader.string("data") ?? "", channel: channel)
            case "refuse":
                let code = try reader.integer("code", in: 4000...4999) ?? 4100
                return .refuse(.refuse(code: code, message: try reader.string("message") ?? "Refused by a script"))
            case "fail-auth":
                let status = try reader.integer("status", in: 200...599) ?? 403
                return .failAuth(.respond(status: status, body: try reader.string("body") ?? ""))
            case "clear-faults": return .clearFaults
            case let other: throw .init(message: "unknown action “\(other.prefix(50))”")
            }
        }

        /// Checks that the members, each valid by itself, are valid together.
        private func check(_ name: String, channel: String?) throws(StepReader.Malformed) {
            switch (action, trigger) {
            case (.publish, .start), (.publish, .connection):
                if channel == nil { throw .init(message: "publish needs a “channel”, unless it is done on subscribe") }
            case (_, .subscription), (.publish, _): break
            case (_, .start), (_, .connection):
                if channel != nil { throw .init(message: "a “channel” means nothing to \(name)") }
            }
        }
    }
}

/// Reads the members of a step and tracks the known ones, so that a misspelled member is reported.
struct StepReader {
    struct Malformed: Error, Hashable {
        let message: String
    }

    private let object: JSONObject
    private var unread: Set<String>

    init(_ object: JSONObject) {
        self.object = object
        unread = Set(object.names)
    }

    mutating func string(_ name: String) throws(Malformed) -> String? {
        guard unread.remove(name) != nil else { return nil }
        guard let string = object.string(name) else { throw Malformed(message: "“\(name)” must be a string") }
        return string
    }

    mutating func integer(_ name: String, in range: ClosedRange<Int>) throws(Malformed) -> Int? {
        guard unread.remove(name) != nil else { return nil }
        guard let number = object.text(name).flatMap({ Int($0) }), range.contains(number) else {
            let upper = range.upperBound == .max ? "" : " and at most \(range.upperBound)"
            throw Malformed(message: "“\(name)” must be a whole number, at least \(range.lowerBound)\(upper)")
        }
        return number
    }

    mutating func seconds(_ name: String) throws(Malformed) -> Duration? {
        guard unread.remove(name) != nil else { return nil }
        guard let number = object.text(name).flatMap({ Double($0) }), (0...1e9).contains(number) else {
            throw Malformed(message: "“\(name)” must be a number of seconds")
        }
        return .seconds(number)
    }

    func finish() throws(Malformed) {
        if let name = unread.min() { throw Malformed(message: "“\(name.prefix(50))” means nothing here") }
    }
}
