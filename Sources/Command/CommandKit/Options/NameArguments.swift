package import ArgumentParser
import PusherHTTP
package import PusherProtocol
import Transport

/// Checks names of channels, events, users and connections in arguments. A name that no server accepts is wrong use,
/// before connecting or reading anything.
package enum NameArguments {
    /// Checks channels to subscribe to.
    package static func subscribable(_ channels: [String]) throws(ValidationError) {
        for channel in channels where try Self.channel(channel).kind == .serverToUser {
            throw ValidationError(
                "“\(channel)” cannot be subscribed to: --sign-in receives what is sent to the user.")
        }
    }

    @discardableResult
    package static func channel(_ channel: String) throws(ValidationError) -> ChannelName {
        do throws(InvalidChannelName) {
            return try ChannelName(channel)
        } catch {
            throw ValidationError("\(error)")
        }
    }

    package static func event(_ name: String) throws(ValidationError) {
        try check { () throws(PusherHTTPError) in try ArgumentRules.eventName(name) }
    }

    /// Checks a client event, which servers do not publish.
    package static func clientEvent(_ name: String) throws(ValidationError) {
        guard name.hasPrefix("client-") else {
            throw ValidationError("A client event's name must start with client-, not be “\(name)”.")
        }
        guard name != "client-" else { throw ValidationError("A client event's name must go on after client-.") }
        try event(name)
    }

    package static func user(_ id: String) throws(ValidationError) {
        try check { () throws(PusherHTTPError) in try ArgumentRules.userID(id) }
    }

    package static func socketID(_ id: String?) throws(ValidationError) {
        try check { () throws(PusherHTTPError) in try ArgumentRules.socketID(id) }
    }

    /// Checks a text that is inserted into a path unchanged.
    package static func pathSegment(_ text: String, of source: String) throws(ValidationError) {
        guard PathSegment(text) != nil, !text.contains("/") else {
            throw ValidationError("\(source) must not be empty, dots, or contain a slash: it becomes a part of paths.")
        }
    }

    private static func check<Value>(_ rule: () throws(PusherHTTPError) -> Value) throws(ValidationError) {
        do throws(PusherHTTPError) {
            _ = try rule()
        } catch {
            throw ValidationError("\(error.message).")
        }
    }
}
