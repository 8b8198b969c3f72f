import Basics
import Transport

/// The user who logs in at a server.
public struct User: Sendable, Hashable {
    /// The user's name.
    public let userid: String
    /// The password in the clear.
    public let password: String

    /// Creates an instance with the given properties.
    public init(userid: String, password: String) {
        (self.userid, self.password) = (userid, password)
    }

    /// Creates a user, under the name in the original library.
    public static func user(withId userid: String, andPassword password: String) -> User {
        User(userid: userid, password: password)
    }
}

extension User: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The name, without the password.
    public var description: String { userid }
    /// The name, without the password.
    public var debugDescription: String { userid }
    /// An empty mirror, because reflection would show the password.
    public var customMirror: Mirror { Mirror(self, children: []) }
}
