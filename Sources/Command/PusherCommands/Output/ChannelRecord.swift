import CommandKit
import JSONBytes
import PusherHTTP
import PusherProtocol

/// The HTTP API's information about a channel, as a line.
struct ChannelRecord: ListRecord {
    let name: String
    let info: PusherHTTPClient.ChannelInfo

    var json: String {
        var line = JSONLine(type: "channel")
        line.add("channel", name)
        line.add("occupied", json: info.isOccupied.map { "\($0)" })
        line.add("user_count", info.userCount)
        line.add("subscription_count", info.subscriptionCount)
        line.add("cache", json: info.cache.map(Self.json))
        return line.text
    }

    private static func json(_ cache: PusherHTTPClient.CachedEvent) -> String {
        #"{"data":\#(JSONString.quoted(cache.data))"# + (cache.ttl.map { #","ttl":\#($0)"# } ?? "") + "}"
    }

    /// Returns columns such as `channel  occupied  2 users  3 subscriptions  cached for 60 s: data`.
    func columns(style: TextStyle) -> [TerminalText] {
        let parts: [TerminalText?] = [
            style.channel(name), info.isOccupied.map { $0 ? "occupied" : "empty" },
            info.userCount.map { $0 == 1 ? "1 user" : "\($0) users" },
            info.subscriptionCount.map { $0 == 1 ? "1 subscription" : "\($0) subscriptions" },
            info.cache.map { cache in
                "cached\(cache.ttl.map { " for \($0) s" } ?? ""): \(cache.data)"
            },
        ]
        return parts.map { $0 ?? "" }
    }
}
