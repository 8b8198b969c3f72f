import PusherProtocol

extension PusherHTTPClient {
    /// Returns the ids of the users on a presence channel; empty if there are none.
    public func users(of channel: String) async throws(PusherHTTPError) -> [String] {
        struct Answer: Decodable {
            struct User: Decodable {
                let id: Identifier
            }

            /// Some servers send null if there are no users.
            let users: [User]?
        }
        let name = try ArgumentRules.channelName(channel)
        guard name.kind == .presence else {
            throw PusherHTTPError(.invalidArgument, "“\(name)” has no users: it is not a presence channel")
        }
        let answer = try await get("channels/\(try ArgumentRules.segment(name.string))/users", as: Answer.self)
        return answer.users?.map(\.id.string) ?? []
    }

    /// Closes every connection that is signed in as a user. The user may reconnect, so stop signing for them first.
    public func terminateConnections(ofUser user: String) async throws(PusherHTTPError) {
        let user = try ArgumentRules.segment(try UserID(user).string)
        _ = try await post("users/\(user)/terminate_connections", [String: String](), isSafeToRepeat: true)
    }
}

/// An identifier that should be a string, but that some servers send as a number.
private struct Identifier: Decodable {
    let string: String

    init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        string = try (try? container.decode(Int.self)).map(String.init) ?? container.decode(String.self)
    }
}
