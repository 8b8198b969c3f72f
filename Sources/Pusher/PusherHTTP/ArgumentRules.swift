import PusherProtocol
import Transport

/// Checks of arguments that a server is known to refuse, made before sending.
package enum ArgumentRules {
    static let maximumEventNameLength = 200

    @discardableResult
    package static func eventName(_ name: String) throws(PusherHTTPError) -> String {
        guard !name.isEmpty else { throw PusherHTTPError(.invalidArgument, "the event has no name") }
        guard name.utf8.count <= maximumEventNameLength else {
            throw PusherHTTPError(
                .invalidArgument,
                "the event name has \(name.utf8.count) bytes, at most \(maximumEventNameLength) are allowed")
        }
        // Compares bytes, as servers do: a combining mark after the colon would make it another character.
        guard !["pusher:", "pusher_internal:"].contains(where: { name.utf8.starts(with: $0.utf8) }) else {
            throw PusherHTTPError(
                .invalidArgument, "event names that start with pusher: or pusher_internal: are the server's own")
        }
        return name
    }

    static func data(_ data: String, atMost maximum: Int) throws(PusherHTTPError) -> String {
        guard data.utf8.count <= maximum else {
            throw PusherHTTPError(
                .invalidArgument,
                "the event's data has \(data.utf8.count) bytes, at most \(maximum) are allowed (maximumDataSize)")
        }
        return data
    }

    static func channelName(_ channel: String) throws(PusherHTTPError) -> ChannelName {
        do throws(InvalidChannelName) {
            return try ChannelName(channel)
        } catch {
            throw PusherHTTPError(.invalidArgument, error.description)
        }
    }

    @discardableResult
    package static func socketID(_ socketID: String?) throws(PusherHTTPError) -> String? {
        guard socketID.map({ SocketID($0) != nil }) ?? true else { throw badSocketID }
        return socketID
    }

    package static func userID(_ id: String) throws(PusherHTTPError) { _ = try UserID(id) }

    /// Checks a name that becomes one segment of a path.
    ///
    /// - Returns: The name unchanged. The path is signed unescaped and escaped when it is sent.
    static func segment(_ name: String) throws(PusherHTTPError) -> String {
        guard PathSegment(name) != nil, !name.utf8.contains(UInt8(ascii: "/")) else {
            throw PusherHTTPError(
                .invalidArgument,
                "“\(name)” cannot be a part of a path: it is empty, dots, or has a slash; nothing was sent")
        }
        return name
    }

    static let badSocketID = PusherHTTPError(.invalidArgument, "a socket id is two numbers joined by a dot")
}
