import Basics
import Transport

/// A homeserver: rooms with numbered events, and the answers to `/sync`.
struct MatrixServer {
    /// How the homeserver treats requests.
    enum Behaviour: Sendable {
        case normal
        case unreachable
        /// Never answers.
        case silent
        case failing
        case limiting(Duration)
        case unauthenticated
        case garbage
        /// Does not wait for news.
        case impatient
    }

    enum Answer: Sendable {
        case sync([UInt8])
        case unknownToken
    }

    /// Maximum events per room in an answer.
    static let timelineLimit = 5

    /// The room of each event, in order.
    private(set) var stream: [Int] = []
    private(set) var counts = [Int](repeating: 0, count: MatrixSchedule.rooms)
    /// Tokens of other streams are unknown.
    private var epoch = 0

    mutating func publish(in room: Int) {
        stream.append(room)
        counts[room] += 1
    }

    mutating func reset() { epoch += 1 }

    /// Whether there is anything new.
    func hasNews(since token: String?) -> Bool {
        guard let token, let position = position(of: token) else { return true }
        return position < stream.count
    }

    private func position(of token: String) -> Int? {
        let parts = token.split(separator: "-").compactMap { Int($0) }
        return parts.count == 2 && parts[0] == epoch ? parts[1] : nil
    }

    func answer(since token: String?) -> Answer {
        let start = token.flatMap { position(of: $0) }
        if token != nil, start == nil { return .unknownToken }
        let news = stream[(start ?? 0)...]
        let rooms = (0..<counts.count).compactMap { room -> String? in
            let count = news.count { $0 == room }
            return count > 0 || start == nil ? section(room, count) : nil
        }
        let text = #"{"next_batch":"\#(epoch)-\#(stream.count)","rooms":{"join":{\#(rooms.joined(separator: ","))}}}"#
        return .sync(Array(text.utf8))
    }

    /// - Parameter count: The number of new events.
    private func section(_ room: Int, _ count: Int) -> String {
        let told = min(count, Self.timelineLimit)
        let events = (counts[room] - told..<counts[room]).map { index in
            #"{"type":"m.room.message","event_id":"$\#(room)-\#(index + 1)","sender":"@o:s","origin_server_ts":1,"#
                + #""content":{"msgtype":"m.text","body":"\#(index + 1)"}}"#
        }
        return #""!\#(room):s":{"timeline":{"events":[\#(events.joined(separator: ","))],"#
            + #""limited":\#(told < count),"prev_batch":"p"}}"#
    }
}
