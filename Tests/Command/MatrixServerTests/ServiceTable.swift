import Basics
import Testing

/// The service's methods that were seen to work on a real homeserver.
struct ServiceTable {
    private static let methods = [
        "initialize", "login", "loginWithPassword", "restoreSession", "logout", "startSync", "stopSync", "createRoom",
        "joinRoom", "leaveRoom", "getRoom", "getJoinedRooms", "sendMessage", "sendMedia", "getRoomMessages",
        "inviteUser", "kickUser", "setTyping", "markRoomAsRead", "editMessage", "redactMessage", "toggleReaction",
        "sendReaction", "getReactions",
    ]

    private var shown: [String: String] = [:]

    /// - Parameter isShown: Whether both users see the effect.
    mutating func show(_ method: String, _ what: String, _ isShown: Bool) {
        #expect(Self.methods.contains(method))
        #expect(isShown, "\(method): \(what)")
        guard isShown, shown[method] == nil else { return }
        shown[method] = what
    }

    /// Prints the table, and returns whether it is complete.
    func isComplete() -> Bool {
        print("The service on a homeserver: \(shown.count) of \(Self.methods.count) methods shown")
        for method in Self.methods {
            print("  " + method.padded(to: 18) + (shown[method] ?? "NOT SHOWN"))
        }
        return Self.methods.allSatisfy { shown[$0] != nil }
    }
}

extension String {
    fileprivate func padded(to width: Int) -> String { self + String(repeating: " ", count: max(width - count, 1)) }
}
